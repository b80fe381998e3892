// One token bucket for a transfer: when the next burst may leave, and how long it may be. Tokens
// are bytes. Catching up after a late wake-up is bounded to 1 ms of rate (design: RFC 9002 §7.7
// asks for bounded bursts). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::sabul {

class Pacer {
  public:
    static constexpr Duration kBurst = std::chrono::microseconds(125);
    // Each packet by itself would cost a third more processor time at both ends at 1 Gbit/s, and a
    // timer is some 50 us late anyway.
    static constexpr Duration kWorthWaking = kBurst / 2;
    static constexpr Duration kCatchUp = std::chrono::milliseconds(1);
    // ... or to a few packets of those that are sent, where a timer's lateness is longer than that.
    static constexpr double kCatchUpPackets = 8;
    // No burst is as long; a rate may be any.
    static constexpr double kMostBurst = 1 << 30;

    void set_rate(Time now, BitRate rate) {
        refill(now);
        rate_ = rate;
    }
    BitRate rate() const { return rate_; }

    // Bytes that may leave now as one burst: at most 125 µs of rate, at least one packet once the
    // bucket holds more than nothing. 0: not yet.
    std::size_t budget(Time now, std::size_t packet_bytes) {
        packet_bytes_ = static_cast<double>(packet_bytes);
        refill(now);
        if (tokens_ <= 0) return 0;
        const double burst = std::min(rate_.bytes_per_second() * seconds(kBurst), kMostBurst);
        return static_cast<std::size_t>(
            std::max(std::min(burst, tokens_), static_cast<double>(packet_bytes)));
    }
    void spend(std::size_t bytes) { tokens_ -= static_cast<double>(bytes); }

    // The sender has used what it could of the time up to now. Tokens that are left then were not
    // wanted; those that a late wake-up loses are another matter.
    void end_turn() { idle_ = tokens_ > 0; }
    // Bytes that the rate allowed and the sender did not want, since the last call.
    double take_unused() { return std::exchange(unused_, 0.0); }

    // When a wake-up is worth it: for half a burst, or a packet where that is longer.
    Time ready_at(Time now) const {
        if (tokens_ > 0) return now;
        if (rate_.bits_per_second <= 0) return kNever;
        const double worth = rate_.bytes_per_second() * seconds(kWorthWaking) - packet_bytes_;
        return filled_at_ + rate_.time_for(std::max(1.0, worth) - tokens_);
    }

  private:
    void refill(Time now) {
        const double most =
            std::max(rate_.bytes_per_second() * seconds(kCatchUp), kCatchUpPackets * packet_bytes_);
        if (now > filled_at_) {
            tokens_ += rate_.bytes_per_second() * seconds(now - filled_at_);
            filled_at_ = now;
        }
        if (tokens_ > most) {
            if (idle_) unused_ += tokens_ - most;
            tokens_ = most;
        }
    }

    BitRate rate_{0};
    double packet_bytes_ = 1440;  // of the last budget
    double tokens_ = 0;
    double unused_ = 0;
    bool idle_ = true;
    Time filled_at_{};
};

}  // namespace lambda::sabul
