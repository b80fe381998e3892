// The machine's clocks.
#pragma once

#include "common/ports/clock.h"

namespace lambda::io {

class Clock final : public ports::Clock {
  public:
    Time now() override;             // CLOCK_MONOTONIC
    Duration thread_cpu() override;  // CLOCK_THREAD_CPUTIME_ID
};

}  // namespace lambda::io
