// Feedback connections on their way from the session's thread to the engine's.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "common/base/mailbox.h"
#include "common/io/reactor.h"
#include "common/io/tls/tls.h"
#include "common/ports/feedback.h"

namespace lambda::mover {

class JoinMailbox final : public ports::FeedbackSource {
  public:
    using Dial = std::function<void(std::uint16_t stripe, std::uint32_t epoch)>;

    // `dial` is empty at the server.
    JoinMailbox(io::Reactor& reactor, Dial dial) : reactor_(reactor), dial_(std::move(dial)) {}

    // Any thread. A connection for which there is no room is closed; the client dials again.
    void put(std::uint16_t stripe, std::uint32_t epoch, io::TlsStream stream);

    // Engine thread.
    std::optional<ports::Joined> poll() override;
    void dial(std::uint16_t stripe, std::uint32_t epoch) override;

  private:
    struct Arrived {
        std::uint16_t stripe;
        std::uint32_t epoch;
        io::TlsStream stream;
    };
    static constexpr std::size_t kMostWaiting = 256;

    io::Reactor& reactor_;
    Dial dial_;
    Mailbox<Arrived> arrived_{kMostWaiting};
};

}  // namespace lambda::mover
