// Feedback connections between the two ends of a transfer in virtual time, made on the client's
// dial. One thread.
#pragma once

#include <memory>

#include "common/ports/feedback.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

class VirtualFeedback {
  public:
    // `delay` each way, and up to `jitter` on top of it; order is kept.
    VirtualFeedback(World& world, Duration delay, Duration jitter, Alarm& client, Alarm& server);
    ~VirtualFeedback();
    ports::FeedbackSource& client();
    ports::FeedbackSource& server();
    void set_delay(Duration delay);
    // Of what is sent this share is lost as TCP's segments are: it comes a round trip and some SYNs
    // later, and what waits behind it no sooner.
    void set_loss(double share);
    // Bytes a second of each connection that TCP's window has room for; 0: any.
    void set_room(double bytes_per_second);
    // Ends the live connections of a stripe, or swallows what they carry from now on.
    void cut(std::uint16_t stripe);
    void stall(std::uint16_t stripe);
    unsigned dials() const;
    // That were sent, in both directions.
    std::uint64_t segments() const;
    bool refuse = false;  // no connection comes to stand

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lambda::simulation
