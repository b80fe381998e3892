// What is under way to the sockets of a receiver on a short path, where stripes may share one: no
// socket gets more than it holds, and small ones add up (docs/decisions/0021). Stripes by index,
// bytes of which nothing was told. Pure; engine thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/address.h"
#include "common/sabul/socket_room.h"

namespace lambda::engine {

class ReceiverSockets {
  public:
    // Where each stripe ends, now; those whose end is not known yet may share one.
    void set_ends(std::span<const Address> ends) {
        socket_of_.clear();
        sharing_.assign(ends.size(), 0);
        count_ = 0;
        for (const Address& end : ends) {
            const auto first = std::find(ends.begin(), ends.end(), end) - ends.begin();
            socket_of_.push_back(static_cast<std::size_t>(first));
            if (sharing_[socket_of_.back()]++ == 0) ++count_;
        }
        clear();
    }
    // How many stripes end where this one does.
    std::size_t sharing(std::uint16_t stripe) const { return sharing_[socket_of_[stripe]]; }

    void clear() {
        untold_on_.assign(socket_of_.size(), 0);
        untold_ = most_ = 0;
    }
    // `room`: of the stripe's socket, for what it sends.
    void add(std::uint16_t stripe, std::size_t untold, const sabul::SocketRoom& room) {
        untold_on_[socket_of_[stripe]] += untold;
        untold_ += untold;
        most_ = std::max(most_, room.together(count_));
    }
    // What the stripe may send by what its socket holds, and by what all of them may together.
    // `spare`: so much more is on its way elsewhere. `least`: fits in any case.
    std::size_t left(std::uint16_t stripe, const sabul::SocketRoom& room, std::size_t spare,
                     std::size_t least) const {
        return rest(std::max(room.usable() + spare, least), untold_on_[socket_of_[stripe]]);
    }
    std::size_t left_together(std::size_t spare, std::size_t least) const {
        return rest(std::max(most_ + spare, least), untold_);
    }

  private:
    static std::size_t rest(std::size_t most, std::size_t used) {
        return used >= most ? 0 : most - used;
    }

    std::vector<std::size_t> socket_of_;            // by stripe: the first one that ends there
    std::vector<std::size_t> sharing_, untold_on_;  // by that
    std::size_t count_ = 0;
    std::size_t untold_ = 0, most_ = 0;
};

}  // namespace lambda::engine
