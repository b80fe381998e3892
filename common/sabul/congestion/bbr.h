// `bbr`: the model-based law that most of the Internet's large senders use, here to be measured
// against, and to hold a share beside it (rival.h). Source: draft-cardwell-iccrg-bbr-congestion-
// control-00 (version 1, the one in Linux). One instance for each transfer.
//
// Rule: bw = most of what was delivered in a round trip, over 10 rounds; rtt = least of 10 s. Sent
// is gain bw, with at most 2 bw rtt under way. Startup: gain 2 / ln 2, until three rounds bring
// less than a quarter more; drain: its inverse, until the queue is gone; then rounds of gain 5/4,
// 3/4 and six of 1, entered at random. Every 10 s without a new least rtt: 4 packets under way for
// a round and 200 ms, or two rounds. Loss is not listened to.
//
// Ours: feedback comes once a SYN, so a SYN's worth more may be under way.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "common/sabul/congestion/law.h"
#include "common/sabul/congestion/signals/passages.h"

namespace lambda::sabul {

class Bbr final : public Law {
  public:
    explicit Bbr(const LawSettings& settings);
    void on_ack(const AckSample& sample) override;
    void on_loss(const LossSample&) override {}
    void on_syn(const SynSample& sample) override;
    BitRate rate() const override;
    double window() const override;

    // The bandwidth is the initial rate already.
    void skip_startup();
    bool probing_rtt() const { return mode_ == Mode::probe_rtt; }

  private:
    enum class Mode { startup, drain, probe_bw, probe_rtt };
    struct Stripe {
        Passages passages;
        std::uint64_t bytes = 0;
        Time heard{};
    };
    static constexpr std::size_t kRounds = 10;

    void measure(const AckSample& sample);
    void end_round(Time now);
    void advance(Time now, Duration latest);
    void enter_probe_bw(Time now);
    double bandwidth() const;
    double gain() const;

    LawSettings settings_;
    std::minstd_rand random_;
    std::vector<Stripe> stripes_;
    double packet_bytes_ = 1440;
    Mode mode_ = Mode::startup;
    std::array<double, kRounds> most_{};  // delivered, of each round; bytes a second
    std::size_t round_ = 0;
    Time round_end_{};
    double full_ = 0;  // bandwidth that startup grew to
    int flat_rounds_ = 0;
    Time drain_end_{};
    Duration rtt_{0}, least_rtt_{0};
    Time least_seen_{};
    std::size_t phase_ = 0;
    Time phase_end_{};
    Time probe_end_{};
    Time limited_at_{};
};

}  // namespace lambda::sabul
