// The deterministic model of SABUL's rate control (2004 paper §III): flows of `mimd` that send at
// a constant rate for a round of T, lose what the bottleneck cannot take, and set their gap by
// next_gap_us(). No round trips, no packets; equation (4) and, where a flow sits at ρ = α, (3) are
// left out, as in the paper's analysis. Rates in Mbit/s, times in microseconds: bits / (Mbit/s) =
// microseconds. Pure.
#pragma once

#include <vector>

#include "common/sabul/congestion/mimd.h"

namespace lambda::model {

struct Link {
    double service_mbit = 950;   // μ, all flows together
    double queue_packets = 0;    // K; 0: the fluid model, ρ = max(0, 1 - μ / λ)
    double packet_bits = 12000;  // L
};

double rate_of(const sabul::MimdParameters& law, const Link& link, double gap_us);
double gap_at(const sabul::MimdParameters& law, const Link& link, double rate_mbit);

enum class Mode { increase, decrease, steady };  // ρ below, above, at α

struct Flow {
    sabul::MimdParameters law;
    double gap_us = 0;
    // Of the round that ended last.
    double loss = 0;
    Mode mode = Mode::increase;
    // Of the present round.
    double sent_bits = 0, lost_bits = 0;
    double ends_us = 0;
};

class Recurrence {
  public:
    explicit Recurrence(const Link& link) : link_(link) {}
    void add(const sabul::MimdParameters& law, double rate_mbit);
    // Up to the next time at which a round ends; of every flow whose round ends then the next
    // begins.
    void step();

    double now_us() const { return now_us_; }
    const std::vector<Flow>& flows() const { return flows_; }
    double rate_mbit(std::size_t flow) const;
    double backlog_bits() const { return backlog_bits_; }

  private:
    void pass(double span_us);
    void end_round(Flow& flow);

    Link link_;
    std::vector<Flow> flows_;
    double now_us_ = 0;
    double backlog_bits_ = 0;
};

}  // namespace lambda::model
