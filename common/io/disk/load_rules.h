// The rules of a thread's load, apart from the kernel, for whoever knows the times. Pure.
#pragma once

#include <optional>

#include "common/base/time.h"

namespace lambda::io {

// Whether it has more to do than one processor does, while others would have time.
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

}  // namespace lambda::io
