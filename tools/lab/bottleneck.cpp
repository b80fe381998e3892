#include "tools/lab/bottleneck.h"

#include <algorithm>
#include <cmath>

namespace lambda::lab {
namespace {

double nanoseconds(Duration duration) {
    return static_cast<double>(duration.count());
}

}  // namespace

void TimeShares::add(double value, std::uint64_t samples) {
    const auto bin = static_cast<std::size_t>(std::ceil(value / width_));
    samples_[std::min(bin, kBins - 1)] += samples;
    total_ += samples;
}

double TimeShares::quantile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        seen += samples_[bin];
        if (seen >= wanted) return width_ * static_cast<double>(bin);
    }
    return 0;
}

Bottleneck::Bottleneck(Time now, BitRate rate, BitRate slowest, std::uint64_t queue)
    : per_ns_(rate.bytes_per_second() / 1e9),
      queue_(static_cast<double>(queue)),
      slowest_per_ns_(slowest.bytes_per_second() / 1e9),
      at_(now),
      since_(now),
      next_sample_(now + kSample),
      bytes_(queue_),
      wait_ns_(queue_ / slowest_per_ns_) {}

std::optional<Bottleneck::Position> Bottleneck::offer(Time now, std::uint32_t bytes) {
    drain(now);
    if (backlog() + bytes > queue_) return std::nullopt;
    taken_ += bytes;
    most_ = std::max(most_, backlog());
    return taken_;
}

void Bottleneck::set_rate(Time now, BitRate rate) {
    drain(now);
    per_ns_ = rate.bytes_per_second() / 1e9;
}

void Bottleneck::drain(Time now) {
    if (now <= at_) return;
    sample(now);
    const double time = nanoseconds(now - at_), before = backlog();
    const double busy = std::min(time, before / per_ns_);
    const double drained = std::min(before, per_ns_ * busy);
    const double area = (before - drained / 2) * busy;
    byte_ns_ += area;
    wait_ns2_ += area / per_ns_;
    capacity_ += per_ns_ * time;
    served_ = busy < time ? static_cast<double>(taken_) : served_ + drained;
    at_ = now;
}

void Bottleneck::sample(Time now) {
    for (; next_sample_ <= now; next_sample_ += kSample) {
        const double left = backlog() - per_ns_ * nanoseconds(next_sample_ - at_);
        if (left <= 0) {
            const auto idle = (now - next_sample_) / kSample;
            bytes_.add(0, static_cast<std::uint64_t>(idle + 1));
            wait_ns_.add(0, static_cast<std::uint64_t>(idle + 1));
            next_sample_ += kSample * (idle + 1);
            return;
        }
        bytes_.add(left, 1);
        wait_ns_.add(left / per_ns_, 1);
    }
}

void Bottleneck::reset(Time now) {
    drain(now);
    since_ = now;
    next_sample_ = now + kSample;
    byte_ns_ = wait_ns2_ = capacity_ = 0;
    most_ = backlog();
    bytes_ = TimeShares(queue_);
    wait_ns_ = TimeShares(queue_ / slowest_per_ns_);
}

QueueFigures Bottleneck::figures(Time now) {
    drain(now);
    const double time = std::max(nanoseconds(at_ - since_), 1.0);
    return {.mean_bytes = byte_ns_ / time,
            .p95_bytes = bytes_.quantile(0.95),
            .most_bytes = most_,
            .mean_ms = wait_ns2_ / time / 1e6,
            .p95_ms = wait_ns_.quantile(0.95) / 1e6,
            .capacity_bytes = capacity_};
}

}  // namespace lambda::lab
