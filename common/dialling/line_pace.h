// How long an answer of many lines is waited for: each wait of `kEach` brings its first line, or
// kLeast more, or its end, so that nobody holds who waits by a line now and then.
#pragma once

#include <cstddef>

#include "common/base/time.h"

namespace lambda::dialling {

class LinePace {
  public:
    static constexpr std::size_t kLeast = 1000;

    LinePace(Time now, Duration each) : each_(each), deadline_(now + each) {}

    Time deadline() const { return deadline_; }
    void came(Time now) {
        if (lines_++ % kLeast == 0) deadline_ = now + each_;
    }

  private:
    Duration each_;
    Time deadline_;
    std::size_t lines_ = 0;
};

}  // namespace lambda::dialling
