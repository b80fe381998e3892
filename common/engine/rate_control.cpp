#include "common/engine/rate_control.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::engine {
namespace {

// More than this share of what the rate allowed was not sent: the rate was not what held us back.
constexpr double kUnused = 0.1;
// Laws come close to the highest rate and stay there.
constexpr double kAtLimit = 0.97;
constexpr BitRate kHighest{static_cast<double>(session::kMaxRate)};

}  // namespace

RateControl::RateControl(const session::Terms& terms, std::uint64_t seed, Time now)
    : syn_(terms.syn), last_tick_(now) {
    next_tick_ =
        now +
        Duration(static_cast<Duration::rep>(seed % static_cast<std::uint64_t>(syn_.count()))) / 2 +
        syn_ / 2;
    const std::size_t count = sabul::governs_transfer(terms.congestion) ? 1 : terms.stripes;
    for (std::size_t i = 0; i < count; ++i) {
        const double share = 1.0 / static_cast<double>(count);
        highest_.bits_per_second = terms.highest_rate.bits_per_second * share;
        Unit made;
        made.law = sabul::make_law(terms.congestion,
                                   {.initial = BitRate{terms.initial_rate.bits_per_second * share},
                                    .highest = BitRate{terms.highest_rate.bits_per_second * share},
                                    .known = BitRate{terms.known_rate.bits_per_second * share},
                                    .syn = terms.syn,
                                    .seed = seed + i});
        LAMBDA_ASSERT(made.law != nullptr);
        made.pacer.set_rate(now, made.law->rate());
        units_.push_back(std::move(made));
    }
}

void RateControl::on_sent(std::uint16_t stripe, std::size_t packets, std::size_t bytes) {
    Unit& sending = unit(stripe);
    sending.pacer.spend(bytes);
    sending.sample.sent_packets += packets;
}

void RateControl::on_ack(std::uint16_t stripe, const sabul::SendFlow& flow,
                         const sabul::FlowNews& news, Time now) {
    Unit& acked = unit(stripe);
    if (news.arrived_packets > 0 || news.passage_count > 0) {
        acked.law->on_ack({.now = now,
                           .stripe = stripe,
                           .packets = news.arrived_packets,
                           .bytes = news.arrived_bytes,
                           .late = news.late_packets,
                           .passages = std::span(news.passages).first(news.passage_count),
                           .rtt = flow.rtt().smoothed(),
                           .latest_rtt = news.latest_rtt,
                           .min_rtt = flow.rtt().minimum()});
        acked.pacer.set_rate(now, allowed(acked));
    }
    if (flow.rtt().known()) {
        // Of the slowest stripe in this interval; where none was heard, of the one before.
        sabul::SynSample& sample = acked.sample;
        sample.rtt =
            acked.fresh_rtt ? std::max(sample.rtt, flow.rtt().smoothed()) : flow.rtt().smoothed();
        sample.min_rtt =
            acked.fresh_rtt ? std::max(sample.min_rtt, flow.rtt().minimum()) : flow.rtt().minimum();
        acked.fresh_rtt = true;
    }
    acked.sample.lost_packets -= std::min(news.late_packets, acked.sample.lost_packets);
}

void RateControl::on_loss(std::uint16_t stripe, const sabul::SendFlow& flow,
                          const sabul::FlowNews& news, Time now) {
    if (news.lost_packets == 0) return;
    Unit& losing = unit(stripe);
    losing.sample.lost_packets += news.lost_packets;
    losing.law->on_loss({.now = now,
                         .stripe = stripe,
                         .packets = news.lost_packets,
                         .lowest = news.lowest_lost,
                         .largest_sent = flow.next_number() == 0 ? 0 : flow.next_number() - 1,
                         .first_sent = news.first_lost_sent,
                         .last_sent = news.last_lost_sent,
                         .rtt = flow.rtt().smoothed()});
    losing.pacer.set_rate(now, allowed(losing));
}

void RateControl::tick(Time now, double packet_bytes, bool credit_limited) {
    for (std::size_t i = 0; i < units_.size(); ++i) {
        Unit& ticking = units_[i];
        sabul::SynSample& sample = ticking.sample;
        sample.now = now;
        sample.elapsed = now - last_tick_;
        ticking.pacer.set_rate(now, allowed(ticking));  // fills up to now
        sample.packet_bytes = packet_bytes;
        const double whole = ticking.law->rate().bytes_per_second() * seconds(sample.elapsed);
        sample.limited = credit_limited || allowed(ticking) < ticking.law->rate() ||
                         ticking.pacer.take_unused() > kUnused * whole;
        const Duration rtt = sample.rtt, min_rtt = sample.min_rtt;
        ticking.law->on_syn(sample);
        ticking.pacer.set_rate(now, allowed(ticking));
        sample = sabul::SynSample{};
        sample.rtt = rtt;
        sample.min_rtt = min_rtt;
        ticking.fresh_rtt = false;
    }
    last_tick_ = now;
    // A tick that came late is followed by the next on the grid, not by a burst of ticks.
    next_tick_ += syn_ * ((now - next_tick_) / syn_ + 1);
}

std::size_t RateControl::budget(std::uint16_t stripe, Time now, std::size_t packet_bytes) {
    Unit& asking = unit(stripe);
    if (now < asking.law->frozen_until()) return 0;
    return asking.pacer.budget(now, packet_bytes);
}

Time RateControl::ready_at(std::uint16_t stripe, Time now) const {
    const Unit& asking = unit(stripe);
    return std::max(asking.pacer.ready_at(now), asking.law->frozen_until());
}

bool RateControl::at_limit(std::uint16_t stripe) const {
    if (rate(stripe) < unit(stripe).law->rate()) return true;
    return highest_.bits_per_second > 0 &&
           rate(stripe).bits_per_second >= kAtLimit * highest_.bits_per_second;
}

void RateControl::end_turn() {
    for (Unit& each : units_) each.pacer.end_turn();
}

BitRate RateControl::rate() const {
    BitRate sum{0};
    for (const Unit& each : units_) sum.bits_per_second += allowed(each).bits_per_second;
    return sum;
}

BitRate RateControl::allowed(const Unit& of) const {
    // A law goes by what the peer tells, which may be any number.
    const BitRate rate = std::min(kHighest, of.law->rate());
    if (limit_.bits_per_second == 0) return rate;
    const double share = limit_.bits_per_second / static_cast<double>(units_.size());
    return std::min(rate, BitRate{share});
}

}  // namespace lambda::engine
