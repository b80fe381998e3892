// Waiting for descriptors: every wait has a deadline, and ends when somebody interrupts.
#pragma once

#include <poll.h>

#include <span>

#include "common/base/result.h"
#include "common/base/time.h"

namespace lambda::dialling {

// CLOCK_MONOTONIC.
Time now();
// Of local time, for timetables.
int minute_of_day();

// Who may end a wait before its time: an eventfd of its owner, who outlives every wait with it.
// Once it is readable it stays so.
class Interruption {
  public:
    explicit Interruption(int event) : event_(event) {}
    int fd() const { return event_; }
    bool raised() const;
    // Any thread, and signal handlers.
    void raise() const;

  private:
    int event_;
};
Error interruption_error();

// poll() over `sockets` until one is ready or the deadline has passed; a signal ends it too.
void poll_until(std::span<pollfd> sockets, Time deadline);

enum class Wait { ready, late, interrupted };
Wait wait_for(int fd, short events, Time deadline, const Interruption& interruption);

}  // namespace lambda::dialling
