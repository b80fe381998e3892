#include "client/report/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/units.h"

namespace lambda::client {
namespace {

constexpr Duration kLiveInterval = std::chrono::milliseconds(200);
constexpr Duration kPlainInterval = std::chrono::seconds(5);
constexpr Duration kReasonInterval = std::chrono::seconds(1);  // beside plain lines
// Rates are means over this long: short enough to follow, long enough to be read.
constexpr Duration kWindow = std::chrono::seconds(3);

}  // namespace

std::string time_left(double seconds) {
    constexpr double kMost = 1000 * 3600.0;
    char text[48];
    const auto whole = static_cast<unsigned>(std::lround(std::min(seconds, kMost)));
    if (whole >= 3600) {
        std::snprintf(text, sizeof text, "%s%u:%02u:%02u left", seconds > kMost ? "more than " : "",
                      whole / 3600, whole / 60 % 60, whole % 60);
    } else {
        std::snprintf(text, sizeof text, "%u:%02u left", whole / 60, whole % 60);
    }
    return text;
}

ProgressLine::ProgressLine(Report& report, Time now, bool changes)
    : report_(report),
      changes_(changes),
      interval_(report.on_terminal() || report.style().progressed ? kLiveInterval
                                                                  : kReasonInterval),
      next_(report.quiet() && !report.style().progressed ? kNever : now + interval_),
      line_at_(now + kPlainInterval) {
    samples_.push_back({.at = now});
}

void ProgressLine::look(const mover::Progress& progress, Time now) {
    if (now < next_) return;
    next_ = now + interval_;
    if (report_.style().progressed) return report_.style().progressed(progress);
    samples_.push_back({now, progress.bytes, progress.sent_packets, progress.lost_packets});
    while (samples_.size() > 2 && samples_[1].at + kWindow <= now) samples_.pop_front();
    if (report_.on_terminal()) return report_.live(line(progress));
    const bool news = progress.standstill != told_ && !progress.standstill.empty();
    told_ = progress.standstill;
    if (news) report_.note("nothing moves: " + told_);
    if (now < line_at_) return;
    line_at_ = now + kPlainInterval;
    report_.note(line(progress));
}

std::string ProgressLine::line(const mover::Progress& progress) const {
    const Sample& first = samples_.front();
    const Sample& last = samples_.back();
    const double elapsed = seconds(last.at - first.at);
    const double rate = elapsed > 0 ? static_cast<double>(last.bytes - first.bytes) / elapsed : 0;
    const std::uint64_t sent = last.sent - first.sent;
    // What was lost may be told after the sending paused.
    const double lost = static_cast<double>(last.lost - first.lost);
    const double loss = sent > 0 ? std::min(100.0, 100 * lost / static_cast<double>(sent)) : 0;
    const double done = progress.total_bytes > 0 ? 100 * static_cast<double>(progress.bytes) /
                                                       static_cast<double>(progress.total_bytes)
                                                 : 0;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%5.1f%% of %s  %s  loss %.2f%%", done,
                  format_size(progress.total_bytes).c_str(),
                  format_rate(BitRate::from_bytes_per_second(rate)).c_str(), loss);
    std::string text = numbers;
    if (progress.rtt_ms > 0) {
        std::snprintf(numbers, sizeof numbers, "  RTT %.1f ms", progress.rtt_ms);
        text += numbers;
    }
    if (rate > 0 && progress.total_bytes > progress.bytes) {
        text += "  " + time_left(static_cast<double>(progress.total_bytes - progress.bytes) / rate);
    }
    if (report_.on_terminal() && !progress.standstill.empty()) {
        std::snprintf(numbers, sizeof numbers, "%5.1f%% of %s  nothing moves: ", done,
                      format_size(progress.total_bytes).c_str());
        text = numbers + progress.standstill;
    }
    if (progress.files_known > 1) {
        text += "  " + std::to_string(progress.files_done) + "/" +
                std::to_string(progress.files_known) + " files";
    }
    return progress.current_name.empty() ? text : text + "  " + progress.current_name;
}

}  // namespace lambda::client
