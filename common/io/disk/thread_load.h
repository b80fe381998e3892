// Whether the thread that asks has more to do than one processor does, while others would have time
// for a part of it. From /proc/thread-self/schedstat (Documentation/scheduler/sched-stats.rst): how
// long the thread ran, and how long it could have run and waited for a processor. Where the kernel
// does not tell, it never has.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/time.h"
#include "common/io/file/root.h"

namespace lambda::io {

// The rule apart from the kernel, for whoever knows the times.
class Overload {
  public:
    struct Reading {
        Time at{};
        Duration ran{0};
        Duration waited{0};  // runnable, for a processor
    };
    // Readings must be kInterval apart. True: a part of the work should go to another thread.
    bool look(const Reading& reading);
    static constexpr Duration kInterval = std::chrono::milliseconds(20);

  private:
    std::optional<Reading> last_;
    Time not_before_{};
    bool overloaded_ = false;
    Time since_{};          // it is so
    unsigned against_ = 0;  // readings, while overloaded_
    Duration pause_{0};     // before it was so again
};

// One thread's, whichever asks first.
class ThreadLoad {
  public:
    // Costs a reading of the clock, and a system call every kInterval. `watched`: for how long the
    // thread ran so far in place of sleeping.
    bool overloaded(Duration watched);

  private:
    Descriptor schedstat_;
    Time next_{};
    bool asked_ = false;
    bool overloaded_ = false;
    Overload rule_;
};

}  // namespace lambda::io
