// What the two directions did over time, each tenth of a second: as CSV, and kept for a report.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "tools/lab/link.h"

namespace lambda::lab {

// All since the begin.
struct Reading {
    double seconds = 0;
    LinkCounters forward, backward;
};

// What one direction did between two readings.
struct Step {
    double mbit = 0, queue_mean_bytes = 0, queue_mean_ms = 0;
    double utilisation = 0;  // of what the rate allowed in this time
    std::uint64_t dropped = 0, lost = 0, dead = 0;
};
Step step_between(const Reading& before, const Reading& now, LinkCounters Reading::*direction);

class Series {
  public:
    static constexpr Duration kStep = std::chrono::milliseconds(100);
    static constexpr std::size_t kMostKept = 16384;  // some 27 minutes

    // An empty name: no CSV. With `keep` the readings are kept; where they become too many, every
    // second one of the older is given up.
    static Result<Series> make(const std::string& file, bool keep);
    // When the next reading is due; kNever where nobody wants it.
    Time next() const { return next_; }
    void begin(Time now);
    // Counters since begin(). A late one tells of the longer time.
    void add(Time now, const LinkCounters& forward, const LinkCounters& backward);
    void end() { next_ = kNever; }
    // Whether all of it could be written. Once, at the end.
    Result<void> close();
    std::vector<Reading> take_kept() { return std::move(kept_); }

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    Series(std::FILE* file, std::string name, bool keep)
        : file_(file), name_(std::move(name)), keep_(keep) {}
    void write(const Reading& now);
    void keep(const Reading& now);

    std::unique_ptr<std::FILE, Close> file_;
    std::string name_;
    int failed_ = 0;  // errno of the first row that could not be written
    bool keep_;
    Time begin_{};
    Time next_ = kNever;
    Reading last_;
    std::vector<Reading> kept_;
};

}  // namespace lambda::lab
