// How many connections there are, in all and for one host, and whether one more may be. An IPv6
// host counts by its /64, since it may choose any address within. Loop's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

      private:
        friend class Admission;
        Slot(Admission* owner, const Address& host) : owner_(owner), host_(host) {}
        Admission* owner_ = nullptr;
        Address host_;
    };
    // An empty slot: refused.
    Slot admit(const Address& peer);
    std::size_t count() const { return count_; }

  private:
    const std::size_t most_;
    const std::size_t most_per_host_;
    std::size_t count_ = 0;
    std::map<Host, std::size_t> hosts_;
};

}  // namespace lambda::server
