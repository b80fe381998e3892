// `sabul2000`: the rate control of the first SABUL. Source: paper of 2000/01 §4 and §6; where it
// leaves a number open, the source of version 0.1. One instance for each stripe.
//
// Rule, a check after every 500 packets sent, with the losses and the packets that arrived since
// the start:
//   lost > arrived / 2:    half the rate
//   lost <= arrived / 100: + 1 Mbit/s, up to 700
//   else:                  - 1 Mbit/s, down to 1
// and where the loss of the last window was below 1 % at more than 3 checks in a row, + 3 Mbit/s
// more, up to 1000. Without feedback since the last check the rate stays.
//
// Paper: the check after 500 packets (source: 5,000; parameter `check`), the target of 1 %, a
// linear decrease, no change without feedback (source: only once that lasts for 5 checks). Source:
// the steps, their bounds, halving, counts since the start. Not copied: a line of the source that
// then sets the rate to 1000 Mbit/s. Neither has a window; ours bounds what a dead path swallows.
#pragma once

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/parameters.h"

namespace lambda::sabul {

class Sabul2000 final : public Law {
  public:
    // Parameter: check, the packets from one check to the next.
    Sabul2000(const LawSettings& settings, Parameters& parameters);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample&) override {}
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override { return rate_; }
    double window() const override { return window_; }

  private:
    void check();

    LawSettings settings_;
    double check_packets_;
    BitRate rate_;
    double window_;
    double arrived_ = 0, lost_ = 0;  // packets, since the start
    // Since the last check.
    double sent_ = 0, window_arrived_ = 0, window_lost_ = 0;
    bool limited_ = false;
    int good_checks_ = 0;  // in a row
};

}  // namespace lambda::sabul
