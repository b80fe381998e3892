// The clock seam: the core takes `now`, the engine asks once a turn, io reads the machine.
#pragma once

#include "common/base/time.h"

namespace lambda::ports {

class Clock {
  public:
    virtual ~Clock() = default;
    virtual Time now() = 0;
    // What the calling thread was given of the processor since it began. 0: not known.
    virtual Duration thread_cpu() { return Duration{0}; }
};

// What an engine thread sleeps on: its sockets, its disk queue and its mailbox.
class Waiter {
  public:
    virtual ~Waiter() = default;
    // Returns at `until`, or earlier when a port has something to do. Engine thread.
    virtual void wait(Time until) = 0;
    // Ends the present or the next wait. Any thread.
    virtual void wake() = 0;
};

}  // namespace lambda::ports
