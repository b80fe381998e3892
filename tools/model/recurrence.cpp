#include "tools/model/recurrence.h"

#include <algorithm>
#include <cmath>

#include "common/base/assert.h"

namespace lambda::model {
namespace {

// Nearer to α than this is at it: the limit is unstable, and rounding alone (1e-16) would leave it.
constexpr double kAtTarget = 1e-14;

double interface_mbit(const sabul::MimdParameters& law) {
    return law.interface.bits_per_second / 1e6;
}

}  // namespace

double rate_of(const sabul::MimdParameters& law, const Link& link, double gap_us) {
    return link.packet_bits / (link.packet_bits / interface_mbit(law) + gap_us);
}

double gap_at(const sabul::MimdParameters& law, const Link& link, double rate_mbit) {
    return link.packet_bits / rate_mbit - link.packet_bits / interface_mbit(law);
}

void Recurrence::add(const sabul::MimdParameters& law, double rate_mbit) {
    Flow flow;
    flow.law = law;
    flow.gap_us = std::max(0.0, gap_at(law, link_, rate_mbit));
    flow.ends_us = now_us_ + seconds(law.round) * 1e6;
    flows_.push_back(flow);
}

double Recurrence::rate_mbit(std::size_t flow) const {
    return rate_of(flows_[flow].law, link_, flows_[flow].gap_us);
}

void Recurrence::step() {
    LAMBDA_ASSERT(!flows_.empty());
    const auto first =
        std::min_element(flows_.begin(), flows_.end(),
                         [](const Flow& a, const Flow& b) { return a.ends_us < b.ends_us; });
    const double until = first->ends_us;
    pass(until - now_us_);
    now_us_ = until;
    for (Flow& flow : flows_) {
        if (flow.ends_us <= now_us_) end_round(flow);
    }
}

void Recurrence::pass(double span_us) {
    double all = 0;
    for (std::size_t i = 0; i < flows_.size(); ++i) all += rate_mbit(i);
    const double room = link_.queue_packets * link_.packet_bits;
    const double backlog = backlog_bits_ + (all - link_.service_mbit) * span_us;
    const double loss = std::max(0.0, backlog - room) / (all * span_us);
    backlog_bits_ = std::clamp(backlog, 0.0, room);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        const double sent = rate_mbit(i) * span_us;
        flows_[i].sent_bits += sent;
        flows_[i].lost_bits += sent * loss;
    }
}

void Recurrence::end_round(Flow& flow) {
    flow.loss = flow.lost_bits / flow.sent_bits;
    const double alpha = flow.law.alpha;
    if (std::abs(flow.loss - alpha) <= kAtTarget) {
        flow.mode = Mode::steady;
    } else {
        flow.mode = flow.loss > alpha ? Mode::decrease : Mode::increase;
        flow.gap_us = std::max(0.0, sabul::next_gap_us(flow.law, flow.gap_us, flow.loss));
    }
    flow.sent_bits = flow.lost_bits = 0;
    flow.ends_us += seconds(flow.law.round) * 1e6;
}

}  // namespace lambda::model
