// How many connections there are, in all and for one host, and whether one more may be. An IPv6
// host counts by its /64, since it may choose any address within. Where all places are taken,
// strangers give way, those who have not proved that they may be here: of the network that has the
// most of them (IPv6: /48) the newest of the host that has the most. So a few networks full of
// strangers keep nobody out, and a client's control session outlasts what it connects ahead. Loop's
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "common/base/address.h"

namespace lambda::server {

class Admission {
  public:
    using Host = std::array<std::byte, 16>;
    static Host host_of(const Address& address);

    Admission(std::size_t most, std::size_t most_per_host)
        : most_(most), most_per_host_(most_per_host) {}

    // Its place is free again when it goes. Must not outlive the Admission.
    class Slot {
      public:
        Slot() = default;
        Slot(Slot&& other) noexcept;
        Slot& operator=(Slot&& other) noexcept;
        ~Slot() { release(); }
        explicit operator bool() const { return owner_ != nullptr; }
        void release();
        // Who has it is a stranger until stay(). `give_way` is called once at most, where another
        // needs the place, and has to release it.
        void may_go(std::function<void()> give_way);
        void stay();

      private:
        friend class Admission;
        Slot(Admission* owner, const Host& host) : owner_(owner), host_(host) {}
        Admission* owner_ = nullptr;
        Host host_{};
        std::uint64_t stranger_ = 0;  // 0: none
    };
    // An empty slot: refused. A stranger gives way only to one whose host has fewer of them.
    Slot admit(const Address& peer);
    std::size_t count() const { return count_; }

  private:
    struct OfHost {
        std::size_t connections = 0;
        std::map<std::uint64_t, std::function<void()>> strangers;  // in the order of their coming
    };
    bool make_room(const Host& newcomer);

    const std::size_t most_;
    const std::size_t most_per_host_;
    std::size_t count_ = 0;
    std::map<Host, OfHost> hosts_;
    std::map<Host, std::size_t> networks_;  // their strangers
    std::uint64_t last_stranger_ = 0;
};

}  // namespace lambda::server
