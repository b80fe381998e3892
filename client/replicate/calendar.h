// When a job may run and how fast, by the clock on the wall: time windows and a timetable of rates.
// Pure.
//
//   SPAN    = [DAYS] [HH:MM[:SS]-HH:MM[:SS]]      the end is not part of it; 24:00 is an end
//   DAYS    = DAY or DAY-DAY, several with commas  mon tue wed thu fri sat sun
//   windows = a list of SPANs                      none: always
//   rates   = SPAN RATE, SPAN RATE, ...            RATE as "200Mbit/s", or max; the first that
//   holds
//
// A span that ends before it begins goes over midnight and belongs to the day on which it begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/units.h"

namespace lambda::client::replicate {

struct LocalTime {
    int day = 0;     // 0: Monday
    int second = 0;  // of the day, 0 to 86399
};

struct Span {
    unsigned days = 0x7f;  // bit 0: Monday
    int from = 0;          // seconds of the day
    int to = 86400;
    bool holds(LocalTime now) const;
};

class Windows {
  public:
    // Errors, both here and below: Fault::usage, with the words that are wrong.
    static Result<Windows> parse(const std::vector<std::string>& spans);
    bool open(LocalTime now) const;
    bool always() const { return spans_.empty(); }
    const std::string& text() const { return text_; }

  private:
    std::vector<Span> spans_;
    std::string text_;
};

class Timetable {
  public:
    static Result<Timetable> parse(std::string_view text);
    // 0: no limit, also where no entry holds.
    BitRate at(LocalTime now) const;

  private:
    struct Entry {
        Span span;
        BitRate rate;
    };
    std::vector<Entry> entries_;
};

}  // namespace lambda::client::replicate
