// The changes of a path, handed out when their time has come. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/time.h"
#include "tools/lab/path.h"

namespace lambda::lab {

class Timetable {
  public:
    Timetable() = default;
    // `changes` are in the order of time; they count from `begin`.
    Timetable(Time begin, std::vector<Change> changes)
        : begin_(begin), changes_(std::move(changes)) {}

    struct Step {
        Time at;
        Change change;
    };
    // The next change that is due, with the time for which it stands.
    std::optional<Step> take(Time now) {
        if (next_at() > now) return std::nullopt;
        const Change& change = changes_[next_++];
        return Step{begin_ + change.at, change};
    }
    Time next_at() const { return next_ < changes_.size() ? begin_ + changes_[next_].at : kNever; }

  private:
    Time begin_{};
    std::vector<Change> changes_;
    std::size_t next_ = 0;
};

}  // namespace lambda::lab
