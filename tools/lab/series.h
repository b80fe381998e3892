// What the two directions did over time, as CSV: a line for each tenth of a second.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "common/base/time.h"
#include "tools/lab/link.h"

namespace lambda::lab {

class Series {
  public:
    static constexpr Duration kStep = std::chrono::milliseconds(100);

    // An empty name: no series.
    static Result<Series> make(const std::string& file);
    // When the next line is due; kNever without a file.
    Time next() const { return next_; }
    void begin(Time now);
    // Counters since begin(). A late line tells of the longer time.
    void add(Time now, const LinkCounters& forward, const LinkCounters& backward);
    void end() { next_ = kNever; }
    // Whether all of it could be written. Once, at the end.
    Result<void> close();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    Series(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
    void write(const LinkCounters& now, LinkCounters& before);

    std::unique_ptr<std::FILE, Close> file_;
    std::string name_;
    Time last_{};
    Time next_ = kNever;
    double elapsed_ = 0, step_ = 0;  // seconds: at the line before, and since
    LinkCounters forward_, backward_;
};

}  // namespace lambda::lab
