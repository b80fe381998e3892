// A drop-tail queue in bytes before a link of a given rate, in virtual time: when a packet departs
// follows from when it arrived, not from when anyone looked. Bytes drain evenly: a packet that is
// half sent takes half its bytes of the queue. Pure; `now` never goes back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::lab {

// How long a quantity had which value, in bins of equal width; from samples at even times.
class TimeShares {
  public:
    explicit TimeShares(double most) : width_(most / (kBins - 1)) {}
    void add(double value, std::uint64_t samples);
    // The value that was not passed for this share of the time.
    double quantile(double share) const;

  private:
    static constexpr std::size_t kBins = 2048;
    double width_;
    std::array<std::uint64_t, kBins> samples_{};
    std::uint64_t total_ = 0;
};

// Over the time since reset(), the empty times included.
struct QueueFigures {
    double mean_bytes = 0;
    double p95_bytes = 0;
    double most_bytes = 0;
    double mean_ms = 0;  // how long a packet that comes at any time would wait
    double p95_ms = 0;
    double capacity_bytes = 0;  // what the link could have sent
};

class Bottleneck {
  public:
    // A place in the stream of bytes that the queue took; a packet is known by its end.
    using Position = std::uint64_t;

    // `slowest` is the lowest rate it will have.
    Bottleneck(Time now, BitRate rate, BitRate slowest, std::uint64_t queue);

    // Takes the packet, or has no room for it.
    std::optional<Position> offer(Time now, std::uint32_t bytes);
    // When the last byte of the packet leaves, as things stand. Good for packets that had not left
    // at the last call of offer(), set_rate(), reset() or figures().
    Time departure(Position packet) const {
        const double ahead = static_cast<double>(packet) - served_;
        return ahead <= 0 ? at_ : at_ + Duration(static_cast<Duration::rep>(ahead / per_ns_ + 0.5));
    }
    // What waits goes on at the new rate.
    void set_rate(Time now, BitRate rate);

    double backlog() const { return static_cast<double>(taken_) - served_; }
    void reset(Time now);
    QueueFigures figures(Time now);

  private:
    // Between two of them nothing but draining happens.
    void drain(Time now);
    void sample(Time now);

    static constexpr Duration kSample = std::chrono::microseconds(100);

    double per_ns_;  // bytes
    const double queue_;
    const double slowest_per_ns_;
    Position taken_ = 0;
    double served_ = 0;  // at at_
    Time at_;

    Time since_, next_sample_;
    double byte_ns_ = 0;  // the queue's integral
    double wait_ns2_ = 0;
    double capacity_ = 0;
    double most_ = 0;
    TimeShares bytes_, wait_ns_;
};

}  // namespace lambda::lab
