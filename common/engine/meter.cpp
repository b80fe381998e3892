#include "common/engine/meter.h"

#include <algorithm>

namespace lambda::engine {
namespace {

using verdict::Figure;

// Who stands still for so long does not lack a share of the processor, but all of it.
constexpr Duration kStall = std::chrono::milliseconds(500);
// A timer may be so late by itself.
constexpr Duration kLateness = std::chrono::milliseconds(1);
constexpr Duration kLeastInterval = std::chrono::milliseconds(100);

std::uint64_t microseconds(Duration time) {
    return static_cast<std::uint64_t>(std::max<Duration::rep>(time.count(), 0)) / 1000;
}

}  // namespace

void Meter::start(Time now) {
    if (started_ != kNever) return;
    started_ = begun_ = now;
}

void Meter::begin_turn(Time now) {
    if (running() && ended_ != Time{}) {
        Duration asleep = now - ended_;
        const Duration late = now - std::max(std::min(asked_, now), ended_);
        if (late > kStall) {
            add(Figure::stalled, late);
            asleep -= late;
        } else if (late > kLateness) {
            add(Figure::busy, late - kLateness);
            asleep -= late - kLateness;
        }
        for (std::size_t i = 0; all_parts_ > 0 && i < parts_.size(); ++i)
            spent_[i] += asleep * parts_[i] / all_parts_;
    }
    parts_.fill(0);
    all_parts_ = 0;
    begun_ = now;
}

void Meter::end_turn(Time next) {
    if (!running()) return;
    ended_ = clock_.now();
    const Duration awake = ended_ - begun_;
    add(awake > kStall ? Figure::stalled : Figure::busy, awake);
    asked_ = next;
}

verdict::Figures Meter::figures(Time now) const {
    verdict::Figures figures;
    for (std::size_t i = 0; i < spent_.size(); ++i) figures.values()[i] = microseconds(spent_[i]);
    if (started_ != kNever)
        figures[Figure::elapsed] = microseconds(std::min(now, stopped_) - started_);
    figures[Figure::cpu] = microseconds(clock_.thread_cpu());
    return figures;
}

void QueueMeter::tell(verdict::Figures& figures) const {
    figures[Figure::queue] = all_.us();
    figures[Figure::queue_at_loss] = at_loss_.us();
}

void CarriedMeter::add(Time now, std::uint64_t total, Duration round_trip, BitRate allowed) {
    if (since_ != kNever && now - since_ < std::max(kLeastInterval, round_trip)) return;
    if (since_ != kNever) {
        const double carried = static_cast<double>(total - total_) / seconds(now - since_);
        most_ = std::max(most_, std::min(carried, allowed.bytes_per_second()));
    }
    since_ = now;
    total_ = total;
}

void CarriedMeter::tell(verdict::Figures& figures) const {
    figures[Figure::carried] = static_cast<std::uint64_t>(most_);
}

}  // namespace lambda::engine
