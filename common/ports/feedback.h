// The feedback seam: one TLS TCP connection of a stripe, seen as a byte stream, and where new ones
// come from. All calls on the engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/cursor.h"
#include "common/base/time.h"

namespace lambda::ports {

class FeedbackChannel {
  public:
    virtual ~FeedbackChannel() = default;
    // Queues one frame, whole, or refuses it (false) while 256 KiB wait already.
    virtual bool send(ByteView frame) = 0;
    // What has arrived, valid until the next call; empty when there is nothing now.
    virtual ByteView receive() = 0;
    // False once the connection ended or failed. What arrived before can still be received.
    virtual bool alive() const = 0;
    // Of the segments that carry it, of late, as TCP itself knows them: the round trip, without
    // what waits for an earlier one, and what part the path loses. Nothing while that is unknown.
    struct Carriage {
        Duration round_trip{0};
        double lost = 0;
    };
    virtual std::optional<Carriage> carriage() { return std::nullopt; }
    // Bytes of what was sent that TCP has no window for yet: what is sent now goes behind them.
    virtual std::size_t backlog() { return 0; }
};

struct Joined {
    std::uint16_t stripe = 0;
    std::uint32_t epoch = 0;  // 1 for the first connection of a stripe, one more for each later one
    std::unique_ptr<FeedbackChannel> channel;
};

class FeedbackSource {
  public:
    virtual ~FeedbackSource() = default;
    // A connection that stands now, or nothing.
    virtual std::optional<Joined> poll() = 0;
    // Asks for a new connection. The client dials; at the server, which waits to be dialled, no-op.
    virtual void dial(std::uint16_t stripe, std::uint32_t epoch) = 0;
};

}  // namespace lambda::ports
