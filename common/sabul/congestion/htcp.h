// `htcp`: H-TCP. Source: draft-leith-tcp-htcp-06; Linux' tcp_htcp.c for what the draft leaves open;
// 2006 paper eq. 12 to 15 (in print eq. 12 has lost its last term).
//
// Rule: each acknowledged packet adds α / w, Δ being the seconds since the last loss event:
//   α(Δ) = 1 up to 1 s, then 1 + 10 (Δ - 1) + ((Δ - 1) / 2)²,  times 2 (1 - β), at least 1.
// A loss event leaves β: 0.5 at the first, where the throughput before it is more than 20 % off
// that before the last one, or where the least RTT (without the SYN) is under 10 ms; else RTTmin /
// RTTmax within 0.5 and 0.8. Then RTTmax fades: 5 % of its distance to RTTmin. Option (draft §4.4):
// α times RTTmin / 100 ms within 0.1 and 2.
#pragma once

#include "common/sabul/congestion/parameters.h"
#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

// α(Δ), packets a round trip, with Δ in seconds.
double htcp_increase(double since_loss);

class Htcp final : public WindowRule {
  public:
    // Parameter: rttscaling (off, on).
    explicit Htcp(Parameters& parameters);

    void acknowledged(const WindowPath& path, double packets) override;
    double grown(const WindowPath& path, double window, double packets) override;
    double reduced(const WindowPath& path, double window) override;
    double left() const { return left_; }

  private:
    bool rtt_scaling_;
    double left_ = 0.5;  // β
    Time last_loss_{};   // or the start
    bool started_ = false;
    Duration longest_rtt_{0};
    // Throughput, packets a second: of this round trip, smoothed, the most since the last loss
    // event, and the most before it.
    Time round_start_{};
    double round_packets_ = 0;
    double throughput_ = 0, most_ = 0, most_before_ = 0;
};

}  // namespace lambda::sabul
