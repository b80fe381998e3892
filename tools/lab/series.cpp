#include "tools/lab/series.h"

#include <cerrno>

namespace lambda::lab {

Step step_between(const Reading& before, const Reading& now, LinkCounters Reading::*direction) {
    const LinkCounters &from = before.*direction, &to = now.*direction;
    const double time = now.seconds - before.seconds;
    const double allowed = to.queue.capacity_bytes - from.queue.capacity_bytes;
    const auto bytes = static_cast<double>(to.passed_bytes - from.passed_bytes);
    // Of the means since the begin.
    const auto mean = [&](double QueueFigures::*figure) {
        return (to.queue.*figure * now.seconds - from.queue.*figure * before.seconds) / time;
    };
    return {.mbit = bytes * 8e-6 / time,
            .queue_mean_bytes = mean(&QueueFigures::mean_bytes),
            .queue_mean_ms = mean(&QueueFigures::mean_ms),
            .utilisation = allowed > 0 ? bytes / allowed : 0,
            .dropped = to.dropped - from.dropped,
            .lost = to.lost - from.lost,
            .dead = to.dead - from.dead};
}

Result<Series> Series::make(const std::string& file, bool keep) {
    if (file.empty()) return Series(nullptr, file, keep);
    std::FILE* const stream = std::fopen(file.c_str(), "we");
    if (stream == nullptr) return errno_error(Fault::file, "cannot write the series", file, errno);
    std::fputs(
        "seconds,"
        "forward_mbit,forward_queue_mean_bytes,forward_dropped,forward_lost,forward_dead,"
        "backward_mbit,backward_queue_mean_bytes,backward_dropped,backward_lost,backward_dead\n",
        stream);
    return Series(stream, file, keep);
}

void Series::begin(Time now) {
    if (!file_ && !keep_) return;
    if (keep_) kept_.reserve(kMostKept);
    begin_ = now;
    next_ = now + kStep;
    last_ = {};
}

void Series::add(Time now, const LinkCounters& forward, const LinkCounters& backward) {
    const Reading reading{seconds(now - begin_), forward, backward};
    if (file_) write(reading);
    if (keep_) keep(reading);
    last_ = reading;
    next_ += kStep * ((now - next_) / kStep + 1);
}

void Series::write(const Reading& now) {
    std::fprintf(file_.get(), "%.3f", now.seconds);
    for (const auto direction : {&Reading::forward, &Reading::backward}) {
        const Step step = step_between(last_, now, direction);
        std::fprintf(file_.get(), ",%.3f,%.0f,%llu,%llu,%llu", step.mbit, step.queue_mean_bytes,
                     static_cast<unsigned long long>(step.dropped),
                     static_cast<unsigned long long>(step.lost),
                     static_cast<unsigned long long>(step.dead));
    }
    std::fputc('\n', file_.get());
    if (failed_ == 0 && std::ferror(file_.get()) != 0) failed_ = errno;
}

void Series::keep(const Reading& now) {
    if (kept_.size() == kMostKept) {
        for (std::size_t i = 0; i < kMostKept / 2; ++i) kept_[i] = std::move(kept_[2 * i + 1]);
        kept_.resize(kMostKept / 2);
    }
    kept_.push_back(now);
}

Result<void> Series::close() {
    if (!file_) return {};
    if (std::fclose(file_.release()) != 0 && failed_ == 0) failed_ = errno;
    if (failed_ == 0) return {};
    return errno_error(Fault::file, "cannot write the series", name_, failed_);
}

}  // namespace lambda::lab
