// Round-trip time of a flow, kept up for its whole life (fault F3 of the
// historical SABUL: measured once). Smoothing by RFC 6298 §2. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/base/time.h"

namespace lambda::sabul {

// The least value of the last 10 to 15 s, in three buckets of 5 s.
class WindowedMinimum {
  public:
    static constexpr Duration kBucket = std::chrono::seconds(5);

    void add(Time now, std::int64_t value) {
        if (now >= bucket_end_ + 2 * kBucket) buckets_.fill(kNone);
        if (now >= bucket_end_) {
            buckets_[2] = buckets_[1];
            buckets_[1] = buckets_[0];
            buckets_[0] = value;
            bucket_end_ = now + kBucket;
        }
        buckets_[0] = std::min(buckets_[0], value);
    }
    std::int64_t get() const { return std::min({buckets_[0], buckets_[1], buckets_[2]}); }

  private:
    static constexpr std::int64_t kNone = INT64_MAX;
    std::array<std::int64_t, 3> buckets_{kNone, kNone, kNone};
    Time bucket_end_{};
};

constexpr Duration kLeastRtt = std::chrono::microseconds(1);

class RttEstimator {
  public:
    // `sample`: from a packet's departure to the ACK's arrival, less the time that the receiver
    // held it; at least kLeastRtt. The packet left at `sent`.
    void add(Time now, Duration sample, Time sent) {
        if (rounds_ == 0) {
            smoothed_ = sample;
            variation_ = sample / 2;
        } else {
            const Duration error = sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
            variation_ = (3 * variation_ + error) / 4;
            smoothed_ = (7 * smoothed_ + sample) / 8;
        }
        minimum_.add(now, sample.count());
        if (rounds_ > 0 && sent < round_end_) return;
        ++rounds_;
        round_end_ = now;
    }

    bool known() const { return rounds_ > 0; }
    // Samples of packets that left after the round before was known.
    std::uint64_t rounds() const { return rounds_; }
    Duration smoothed() const { return smoothed_; }
    Duration variation() const { return variation_; }
    Duration minimum() const { return known() ? Duration(minimum_.get()) : smoothed_; }

  private:
    std::uint64_t rounds_ = 0;
    Time round_end_{};
    // Before the first sample: RFC 6298 says one second; a tenth finds a silent path sooner.
    Duration smoothed_ = std::chrono::milliseconds(100);
    Duration variation_ = std::chrono::milliseconds(50);
    WindowedMinimum minimum_;
};

}  // namespace lambda::sabul
