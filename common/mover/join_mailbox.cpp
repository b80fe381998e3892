#include "common/mover/join_mailbox.h"

#include "common/io/net/feedback_channel.h"

namespace lambda::mover {

void JoinMailbox::put(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream) {
    if (arrived_.put(Arrived{stripe, epoch, std::move(stream)})) reactor_.wake();
}

std::optional<ports::Joined> JoinMailbox::poll() {
    std::optional<Arrived> arrived = arrived_.take();
    if (!arrived) return std::nullopt;
    return ports::Joined{arrived->stripe, arrived->epoch,
                         io::make_feedback_channel(std::move(arrived->stream), reactor_)};
}

void JoinMailbox::dial(std::uint16_t stripe, std::uint32_t epoch) {
    if (dial_) dial_(stripe, epoch);
}

}  // namespace lambda::mover
