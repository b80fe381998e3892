// Whether the thread that asks has more to do than one processor does, while others would have time
// for a part of it. From /proc/thread-self/schedstat (Documentation/scheduler/sched-stats.rst): how
// long the thread ran, and how long it could have run and waited for a processor; and /proc/uptime
// (proc(5)): how long processors were idle. Where the kernel does not tell, it never has.
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

// Whether a thread that is always busy should leave to others, for a while, what can be done by one
// of both alone: only where half a processor is idle beside it. Whether that still is so shows when
// it does it itself, for an interval.
class Spare {
  public:
    struct Reading {
        Time at{};
        Duration ran{0}, waited{0};  // as above
        double idle = 0;             // seconds, of all processors together
    };
    // Once it is next().
    bool look(const Reading& reading);
    // In place of look(), where nothing is known.
    void pass(Time now);
    // It was held up in it: that is for others, too.
    void leave(Time now);
    Time next() const { return next_; }
    static constexpr Duration kInterval = std::chrono::milliseconds(100);
    // For so long it is left, and twice as long each time that it was right.
    static constexpr Duration kFirst = std::chrono::milliseconds(200);
    static constexpr Duration kLongest = std::chrono::milliseconds(3200);

  private:
    std::optional<Reading> last_;
    Time next_{};
    bool left_ = false;
    Duration while_ = kFirst;
};

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
