// A limit of rate by the time of the day: "08:00-18:00 200Mbit/s, 18:00-08:00 max". A stretch whose
// end is before its beginning goes over midnight; where none stands, and where one says max or
// none, there is no limit. Of local time, whatever the day. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/units.h"

namespace lambda {

// The lower of two limits, of which 0 is none.
constexpr BitRate lower(BitRate a, BitRate b) {
    return a.bits_per_second == 0 || b.bits_per_second == 0 ? std::max(a, b) : std::min(a, b);
}

class RateTimetable {
  public:
    static constexpr int kMinutesOfDay = 24 * 60;
    static constexpr std::size_t kMostStretches = 64;
    struct Stretch {
        int first = 0, last = 0;  // minutes of the day; last may be kMinutesOfDay
        BitRate limit{0};         // 0: none
        bool operator==(const Stretch&) const = default;
    };

    // Fault::usage, with the place of the fault: what is no time or rate, and stretches that
    // overlap.
    static Result<RateTimetable> parse(std::string_view text);
    // Whether the text has the form of a timetable, and is not a rate alone.
    static bool looks_like_one(std::string_view text);

    // `minute` of the day. 0: no limit.
    BitRate at(int minute) const;
    // Of all stretches that limit. 0: none does.
    BitRate lowest() const;
    const std::vector<Stretch>& stretches() const { return stretches_; }
    bool operator==(const RateTimetable&) const = default;

  private:
    std::vector<Stretch> stretches_;
};

}  // namespace lambda
