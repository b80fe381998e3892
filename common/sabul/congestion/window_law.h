// The frame of TCP-like congestion control around a WindowRule: slow start, one loss event a round
// trip, timeout, pacing. One instance for each stripe. Windows are in packets of the present size.
//
// Slow start (RFC 5681 §3.1): from 10 packets (RFC 6928), + 1 for each that is acknowledged, up to
// the threshold. A loss event: a NAK whose lowest number is above the largest sent at the event
// before (RFC 6582's recovery point); threshold = the rule's, at least 2, and the window falls to
// it. While acknowledgements are of packets from before the event the window stays (fast recovery,
// RFC 5681 §3.2, RFC 9002 §7.3.2). Timeout (RFC 6298 §2, §5): nothing was heard for SRTT + 4
// RTTVAR + SYN, at least 1 s, doubling; threshold by the same rule, window = 1. The window grows
// only while it is used (RFC 7661): up to twice, in slow start four times, what a round delivers.
//
// Pacing as Linux does it: 2 windows a round in slow start, 1.2 in avoidance, so that the window
// limits. A round is RTT + SYN, since feedback comes once a SYN.
#pragma once

#include <limits>
#include <memory>

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/window_rule.h"

namespace lambda::sabul {

class WindowLaw final : public Law {
  public:
    WindowLaw(const LawSettings& settings, std::unique_ptr<WindowRule> rule);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample& sample) override;
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override;
    double window() const override { return window_ * packet_bytes_; }

    double packets() const { return window_; }
    bool slow_start() const { return window_ < threshold_; }

  private:
    void measure(const AckSample& sample);
    bool used() const;
    bool recovering(const AckSample& sample) const;
    Duration timeout() const;

    LawSettings settings_;
    std::unique_ptr<WindowRule> rule_;
    double packet_bytes_ = 1440;
    double window_;
    double threshold_ = std::numeric_limits<double>::infinity();
    WindowPath path_;
    Duration variation_{0};
    Duration unused_{0};  // how long the window was not used, all together
    Time last_ack_{};
    // The loss event.
    bool any_loss_ = false;
    PacketNumber recovery_point_ = 0;
    Time event_at_ = Time::min();
    // What a round delivers.
    Time round_start_{};
    double round_packets_ = 0, last_round_packets_ = 0;
    // The timeout.
    double in_flight_ = 0;  // packets, once a SYN told of what was sent; below 0 before
    Time last_news_{};
    Time timed_out_at_ = Time::min();
    int timeouts_ = 0;  // in a row
};

}  // namespace lambda::sabul
