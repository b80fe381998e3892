// Whether the thread that asks has more to do than one processor does, while others would have time
// for a part of it. From /proc/thread-self/schedstat (Documentation/scheduler/sched-stats.rst): how
// long the thread ran, and how long it could have run and waited for a processor; and /proc/uptime
// (proc(5)): how long processors were idle. Where the kernel does not tell, it never has.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/time.h"
#include "common/io/disk/load_rules.h"
#include "common/io/file/root.h"

namespace lambda::io {

// One thread's, whichever asks first.
class ThreadLoad {
  public:
    // Both cost a reading of the clock, and system calls every kInterval. `watched`: for how long
    // the thread ran so far in place of sleeping.
    bool overloaded(Duration watched);
    bool spare(Duration watched);
    // What spare() left to this thread took so long. It may have slept: where memory has to be
    // found first, or a cgroup had enough (memory.high).
    void spent(Duration time);

  private:
    struct Times {
        Duration ran{0}, waited{0};
    };
    std::optional<Times> times(Duration watched);
    std::optional<double> idle();

    Descriptor schedstat_, uptime_;
    bool asked_ = false, idle_asked_ = false;
    Time next_{};
    bool overloaded_ = false;
    Overload rule_;
    bool spare_ = false;
    Spare spare_rule_;
};

}  // namespace lambda::io
