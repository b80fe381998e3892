// What a path carries where others have most of it, without taking it from them: some times, for a
// few SYNs, twice as much is sent as else. One queue serves all who come in proportion to what they
// send: where we have little of the path, twice as much of ours gets through; where a quarter is
// ours, delivery falls behind by a fifth. With r sent more, and k of what is sent delivered:
// 1/k(then) - 1/k(else) = r / capacity. The middle one of the answers counts: some meet others who
// send more or less just then. Pure.
#pragma once

#include <array>
#include <cstddef>

#include "common/base/time.h"

namespace lambda::sabul {

// What became of what was sent between two times; bytes a second.
struct Delivery {
    Time sent_from{}, sent_to{};
    double sent = 0, delivered = 0;
    bool limited = false;  // the rate was not used
    Duration width{0};     // how long it is meant to be
};

class Sounding {
  public:
    // `width`: of a Delivery.
    Sounding(Time now, Duration width, Duration round);

    // One step of the law; not once done.
    void step(Time now, const Delivery& delivery, Duration round);
    // Of what would be sent else.
    double factor(Time now) const { return now >= from_ && now < to_ ? kFactor : 1; }
    // Some of what left between these times is ours beyond the rate: its loss, and what is
    // delivered of it, say nothing of the rate.
    bool met(Time sent_from, Time sent_to) const { return sent_to >= from_ && sent_from < to_; }

    bool done() const { return pulses_ >= kPulses || tries_ >= kTries; }
    // Bytes a second; no more than kMost times what was ours. 0: it did not succeed. Once done.
    double capacity() const;

  private:
    void plan(Time now, Duration width, Duration round);

    static constexpr double kFactor = 2;
    static constexpr std::size_t kPulses = 9;
    static constexpr int kTries = 25;
    static constexpr double kMost = 20;

    Time from_{}, to_{};
    // Since the last: sent by delivered, for others' rates swing; what was sent, just now.
    double sum_before_ = 0;
    int steps_before_ = 0;
    double sent_before_ = 0;
    double then_ = 0;  // 0: nothing yet
    double more_ = 0;
    std::size_t pulses_ = 0;
    int tries_ = 0;
    std::array<double, kPulses> answers_{};  // what the path carries, bytes a second
};

}  // namespace lambda::sabul
