// Rate control of a transfer on its common SYN: one law for all stripes, or one for each, with the
// pacer that spends what they allow (docs/protocol.md §6). The tick is the sender's own clock;
// elapsed time is measured. Engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/time.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/pacer.h"
#include "common/sabul/send_flow.h"
#include "common/session/terms.h"

namespace lambda::engine {

class RateControl {
  public:
    // `seed` draws the phase of the tick, which spreads transfers.
    RateControl(const session::Terms& terms, std::uint64_t seed, Time now);

    void on_sent(std::uint16_t stripe, std::size_t packets, std::size_t bytes);
    void on_ack(std::uint16_t stripe, const sabul::SendFlow& flow, const sabul::FlowNews& news,
                Time now);
    void on_loss(std::uint16_t stripe, const sabul::SendFlow& flow, const sabul::FlowNews& news,
                 Time now);

    // Of all stripes together, below what the law allows, from the next call that takes `now`;
    // 0: none. Each pacer has a like share.
    void set_limit(BitRate limit) { limit_ = limit; }

    Time next_tick() const { return next_tick_; }
    // `packet_bytes`: file bytes of a full packet; `credit_limited`: the receiver's memory held us
    // back.
    void tick(Time now, double packet_bytes, bool credit_limited);

    // File bytes that may leave on this stripe now, as one burst.
    std::size_t budget(std::uint16_t stripe, Time now, std::size_t packet_bytes);
    Time ready_at(std::uint16_t stripe, Time now) const;
    // The sender has used what it could of the time up to now.
    void end_turn();
    // Bytes that may be in flight: for the stripe alone, or for all where one law governs.
    double window(std::uint16_t stripe) const { return unit(stripe).law->window(); }
    bool shared_window() const { return units_.size() == 1; }
    // Of the pacer that the stripe draws on.
    BitRate rate(std::uint16_t stripe) const { return allowed(unit(stripe)); }
    BitRate rate() const;  // of all
    // Whether that rate is the highest that the terms, or set_limit(), allow.
    bool at_limit(std::uint16_t stripe) const;

  private:
    struct Unit {
        std::unique_ptr<sabul::Law> law;
        sabul::Pacer pacer;
        sabul::SynSample sample;  // of the present interval
        bool fresh_rtt = false;   // an ACK of this interval told the round-trip time
    };
    Unit& unit(std::uint16_t stripe) { return units_[units_.size() == 1 ? 0 : stripe]; }
    const Unit& unit(std::uint16_t stripe) const { return units_[units_.size() == 1 ? 0 : stripe]; }

    // What the law allows, and the limit.
    BitRate allowed(const Unit& of) const;

    BitRate limit_{0};
    Duration syn_;
    BitRate highest_;  // of each unit; 0: none
    Time last_tick_;
    Time next_tick_;
    std::vector<Unit> units_;
};

}  // namespace lambda::engine
