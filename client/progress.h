// How far a transfer is: one live line on a terminal, else a plain line every few seconds.
#pragma once

#include <deque>
#include <string>

#include "client/report.h"
#include "common/base/time.h"
#include "common/mover/mover.h"

namespace lambda::client {

class ProgressLine {
  public:
    ProgressLine(Report& report, Time now);

    // When show() is worth calling next; kNever where nothing is shown.
    Time next() const { return next_; }
    void show(const mover::Progress& progress, Time now);

  private:
    struct Sample {
        Time at;
        std::uint64_t bytes = 0, sent = 0, lost = 0;
    };
    std::string line(const mover::Progress& progress) const;

    Report& report_;
    Duration interval_;
    Time next_;
    std::deque<Sample> samples_;  // of the last few seconds
};

}  // namespace lambda::client
