// Queueing delay of a path from one-way passages, by two clocks that do not agree and may drift:
// the delay above the least of its life (ten seconds, say), with the drift of the clocks taken off.
// Pure.
//
// Drift: the way back, round trip less one-way delay, has a least value that only the clocks move.
// Its minima of 5 s intervals are compared over up to a minute; what a congested way back adds is
// kept out by the minimum and by a bound on how fast clocks run apart.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "common/base/assert.h"
#include "common/base/time.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

class OneWayDelay {
  public:
    static constexpr Duration kLongestLife = std::chrono::seconds(120);

    // Whole seconds, at most kLongestLife.
    explicit OneWayDelay(Duration life) : life_(life) {
        LAMBDA_ASSERT(life >= kBucket && life <= kLongestLife);
    }

    // Returns the queueing delay of this passage. `rtt`: of the same packet, 0 where none is known.
    Duration add(Time now, const Passage& passage, Duration rtt) {
        const Duration raw = passage.arrived - passage.sent.time_since_epoch();
        if (rtt.count() > 0) track_drift(now, rtt - raw);
        const Duration delay = raw - drift_since_start(now);
        const Duration least = std::min(base(now), delay);
        Bucket& bucket = bucket_at(now);
        if (bucket.least == kNone || delay - bucket.least <= kSame) bucket.seen = now;
        bucket.least = std::min(bucket.least, delay);
        return std::min(delay - least, kMost);
    }
    // When a delay as low as the base of `now` was last seen.
    Time base_seen(Time now) const {
        const std::int64_t second = now.time_since_epoch() / kBucket;
        const Duration least = base(now);
        for (std::int64_t i = 0; i < life_ / kBucket; ++i) {
            const Bucket* bucket = bucket_of(second - i);
            if (bucket != nullptr && bucket->least - least <= kSame) return bucket->seen;
        }
        return Time{};
    }
    // What was the base is the path's no more: it is at least `by` longer now.
    void raise(Duration by) {
        for (Bucket& bucket : buckets_) {
            if (bucket.least != kNone) bucket.least += by;
        }
    }
    double drift() const { return drift_; }

  private:
    static constexpr Duration kNone = Duration::max();
    static constexpr Duration kSame = std::chrono::microseconds(20);
    static constexpr Duration kMost = std::chrono::seconds(100);  // whatever a peer says
    static constexpr Duration kBucket = std::chrono::seconds(1);
    static constexpr std::size_t kBuckets = 128;
    static constexpr Duration kDriftStep = std::chrono::seconds(5);
    static constexpr std::size_t kDriftSteps = 12;
    static constexpr double kMostDrift = 300e-6;  // more is a route that changed
    static constexpr double kDriftError = 5e-6;   // 50 us in a base's ten seconds

    struct Bucket {
        std::int64_t second = -1;
        Duration least = kNone;
        Time seen{};  // the least, last
    };
    Bucket& bucket_at(Time now) {
        const std::int64_t second = now.time_since_epoch() / kBucket;
        Bucket& bucket = buckets_[static_cast<std::size_t>(second) % kBuckets];
        if (bucket.second != second) bucket = {second, kNone, {}};
        return bucket;
    }
    // Nothing: no delay was read in it.
    const Bucket* bucket_of(std::int64_t second) const {
        const Bucket& bucket = buckets_[static_cast<std::size_t>(second) % kBuckets];
        return bucket.second == second && bucket.least != kNone ? &bucket : nullptr;
    }
    Duration base(Time now) const {
        const std::int64_t second = now.time_since_epoch() / kBucket;
        Duration least = kNone;
        for (std::int64_t i = 0; i < life_ / kBucket; ++i) {
            const Bucket* bucket = bucket_of(second - i);
            if (bucket != nullptr) least = std::min(least, bucket->least);
        }
        return least;
    }

    Duration drift_since_start(Time now) const {
        return from_seconds(drift_ * seconds(now - drift_zero_));
    }
    void track_drift(Time now, Duration back) {
        if (drift_zero_ == Time{}) drift_zero_ = drift_end_ = now;
        if (now >= drift_end_) {
            if (back_least_ != kNone) {
                minima_[minima_count_++ % kDriftSteps] = {drift_end_ - kDriftStep / 2, back_least_};
                update_drift(now);
            }
            back_least_ = kNone;
            drift_end_ = now + kDriftStep;
        }
        back_least_ = std::min(back_least_, back);
    }
    // The line through the minima, where it is known well enough to be worth its correction.
    void update_drift(Time now) {
        const std::size_t known = std::min(minima_count_, kDriftSteps);
        if (known < 3) return;
        double mean_at = 0, mean_back = 0;
        for (std::size_t i = 0; i < known; ++i) {
            mean_at += seconds(minima_[i].at - drift_zero_) / static_cast<double>(known);
            mean_back += seconds(minima_[i].back) / static_cast<double>(known);
        }
        double along = 0, both = 0, across = 0;
        for (std::size_t i = 0; i < known; ++i) {
            const double x = seconds(minima_[i].at - drift_zero_) - mean_at;
            const double y = seconds(minima_[i].back) - mean_back;
            along += x * x;
            both += x * y;
            across += y * y;
        }
        const double slope = both / along;
        const double left = std::max(0.0, across - slope * both) / static_cast<double>(known - 2);
        if (std::abs(slope) > kMostDrift || std::sqrt(left / along) > kDriftError) return;
        // The past is read anew with the new slope, so that the base does not jump.
        const Duration before = drift_since_start(now);
        drift_ = -slope;
        const Duration shift = before - drift_since_start(now);
        for (Bucket& bucket : buckets_) {
            if (bucket.least != kNone) bucket.least += shift;
        }
    }

    struct Minimum {
        Time at{};
        Duration back{0};
    };
    Duration life_;
    std::array<Bucket, kBuckets> buckets_{};
    std::array<Minimum, kDriftSteps> minima_{};
    std::size_t minima_count_ = 0;
    Time drift_zero_{}, drift_end_{};
    Duration back_least_ = kNone;
    double drift_ = 0;
};

}  // namespace lambda::sabul
