#include "tools/lab/link.h"

#include <algorithm>
#include <utility>

namespace lambda::lab {

Link::Link(Time now, const LinkSpec& spec, std::vector<Duration> lanes, BitRate slowest,
           std::uint64_t seed)
    : impairments_(spec.impairments),
      mtu_(spec.mtu),
      bottleneck_(now, spec.impairments.rate, slowest, spec.queue),
      random_(seed),
      least_delay_(*std::min_element(lanes.begin(), lanes.end())) {
    loss_.set(impairments_.loss);
    for (const Duration delay : lanes) lanes_.push_back({.delay = delay, .arrivals = {}});
}

Fate Link::offer(Time now, const Packet& packet) {
    ++counters_.offered_packets;
    counters_.offered_bytes += packet.bytes;
    if (now < dead_until_) {
        ++counters_.dead;
        return Fate::dead;
    }
    if (mtu_ != 0 && packet.bytes > mtu_) {
        ++counters_.too_long;
        return Fate::too_long;
    }
    if (loss_.loses(random_)) {
        ++counters_.lost;
        return Fate::lost;
    }
    advance(now);
    const auto end = bottleneck_.offer(now, packet.bytes);
    if (!end) {
        ++counters_.dropped;
        return Fate::dropped;
    }
    queue_.push({*end, packet});
    return Fate::queued;
}

// Moves what has left the queue by `now` onto the way.
void Link::advance(Time now) {
    while (!queue_.empty()) {
        const Time when = bottleneck_.departure(queue_.front().end);
        if (when > now) return;
        depart(when, queue_.pop().packet);
    }
}

void Link::depart(Time when, Packet packet) {
    ++counters_.passed_packets;
    counters_.passed_bytes += packet.bytes;
    if (packet.flow >= counters_.flow_bytes.size()) counters_.flow_bytes.resize(packet.flow + 1u);
    counters_.flow_bytes[packet.flow] += packet.bytes;
    if (random_.chance(impairments_.duplicate)) {
        ++counters_.duplicated;
        packet.twice = true;
    }
    Lane& lane = lanes_[packet.lane];
    Time due = when + lane.delay + impairments_.delay;
    bool in_order = due >= lane.last_due;
    if (impairments_.jitter > Duration{0}) {
        // One that jitter alone would let overtake waits for the one before.
        in_order = due + impairments_.jitter >= lane.last_due;
        const double share = random_.unit();
        due += Duration(
            static_cast<Duration::rep>(share * static_cast<double>(impairments_.jitter.count())));
        if (in_order) due = std::max(due, lane.last_due);
    }
    if (random_.chance(impairments_.reorder.rate)) {
        ++counters_.reordered;
        due += impairments_.reorder.by;
        in_order = false;
    }
    if (in_order) {
        lane.arrivals.push({packet, due});
        lane.last_due = due;
    } else {
        overtakers_.push_back({packet, due});
        std::push_heap(overtakers_.begin(), overtakers_.end(), Later{});
    }
}

std::optional<std::size_t> Link::first_lane() const {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].arrivals.empty()) continue;
        if (!first || lanes_[i].arrivals.front().due < lanes_[*first].arrivals.front().due) {
            first = i;
        }
    }
    return first;
}

std::optional<Link::Arrival> Link::take(Time now) {
    advance(now);
    const auto lane = first_lane();
    if (!overtakers_.empty() &&
        (!lane || overtakers_.front().due < lanes_[*lane].arrivals.front().due)) {
        if (overtakers_.front().due > now) return std::nullopt;
        std::pop_heap(overtakers_.begin(), overtakers_.end(), Later{});
        const Arrival arrival = overtakers_.back();
        overtakers_.pop_back();
        return arrival;
    }
    if (!lane || lanes_[*lane].arrivals.front().due > now) return std::nullopt;
    return lanes_[*lane].arrivals.pop();
}

Time Link::next_due() const {
    Time next = kNever;
    if (!queue_.empty()) {
        next = bottleneck_.departure(queue_.front().end) + least_delay_ + impairments_.delay;
    }
    if (const auto lane = first_lane()) {
        next = std::min(next, lanes_[*lane].arrivals.front().due);
    }
    if (!overtakers_.empty()) next = std::min(next, overtakers_.front().due);
    return next;
}

void Link::apply(Time now, const Change& change) {
    advance(now);
    if (change.rate) {
        impairments_.rate = *change.rate;
        bottleneck_.set_rate(now, *change.rate);
    }
    impairments_.delay = change.delay.value_or(impairments_.delay);
    impairments_.jitter = change.jitter.value_or(impairments_.jitter);
    impairments_.duplicate = change.duplicate.value_or(impairments_.duplicate);
    impairments_.reorder = change.reorder.value_or(impairments_.reorder);
    if (change.loss) loss_.set(*change.loss);
    if (change.dead > Duration{0}) dead_until_ = std::max(dead_until_, now + change.dead);
}

void Link::reset_counters(Time now) {
    advance(now);
    bottleneck_.reset(now);
    counters_ = LinkCounters{};
}

LinkCounters Link::counters(Time now) {
    advance(now);
    LinkCounters told = counters_;
    told.queue = bottleneck_.figures(now);
    told.delay = impairments_.delay;
    if (told.queue.capacity_bytes > 0) {
        told.utilisation = static_cast<double>(told.passed_bytes) / told.queue.capacity_bytes;
    }
    return told;
}

}  // namespace lambda::lab
