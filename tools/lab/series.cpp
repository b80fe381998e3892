#include "tools/lab/series.h"

#include <cerrno>

namespace lambda::lab {

Result<Series> Series::make(const std::string& file) {
    if (file.empty()) return Series(nullptr, file);
    std::FILE* const stream = std::fopen(file.c_str(), "we");
    if (stream == nullptr) return errno_error(Fault::file, "cannot write the series", file, errno);
    std::fputs(
        "seconds,"
        "forward_mbit,forward_queue_mean_bytes,forward_dropped,forward_lost,forward_dead,"
        "backward_mbit,backward_queue_mean_bytes,backward_dropped,backward_lost,backward_dead\n",
        stream);
    return Series(stream, file);
}

void Series::begin(Time now) {
    if (!file_) return;
    last_ = now;
    next_ = now + kStep;
    elapsed_ = 0;
    forward_ = backward_ = LinkCounters{};
}

void Series::add(Time now, const LinkCounters& forward, const LinkCounters& backward) {
    step_ = seconds(now - last_);
    std::fprintf(file_.get(), "%.3f", elapsed_ + step_);
    write(forward, forward_);
    write(backward, backward_);
    std::fputc('\n', file_.get());
    elapsed_ += step_;
    last_ = now;
    next_ += kStep * ((now - next_) / kStep + 1);
}

void Series::write(const LinkCounters& now, LinkCounters& before) {
    // The mean over the step, from those since the begin.
    const double queue =
        (now.queue.mean_bytes * (elapsed_ + step_) - before.queue.mean_bytes * elapsed_) / step_;
    std::fprintf(file_.get(), ",%.3f,%.0f,%llu,%llu,%llu",
                 static_cast<double>(now.passed_bytes - before.passed_bytes) * 8e-6 / step_, queue,
                 static_cast<unsigned long long>(now.dropped - before.dropped),
                 static_cast<unsigned long long>(now.lost - before.lost),
                 static_cast<unsigned long long>(now.dead - before.dead));
    before = now;
}

Result<void> Series::close() {
    if (!file_) return {};
    if (std::fclose(file_.release()) != 0) {
        return errno_error(Fault::file, "cannot write the series", name_, errno);
    }
    return {};
}

}  // namespace lambda::lab
