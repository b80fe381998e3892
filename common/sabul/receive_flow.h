// The receiver's half of one SABUL flow: which numbers came, which gaps are to be said, and when.
// Pure. Two steps for each packet: check() before a key is touched, accept() once its tag held.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/interval_set.h"
#include "common/base/time.h"
#include "common/sabul/feedback.h"
#include "common/sabul/socket_room.h"

namespace lambda::sabul {

struct ReceiveFlowSettings {
    Duration syn = std::chrono::milliseconds(10);
    std::uint32_t buffer_bytes = 0;  // what the receive socket holds
    PacketNumber first = 0;          // what the sender begins with
};

class ReceiveFlow {
  public:
    // How far above the largest number a packet may be.
    static constexpr PacketNumber kJump = 1u << 22;
    // Gaps that wait to be said; more are said at once.
    static constexpr std::size_t kMaxPendingGaps = kMaxNakRanges;
    // Gaps that are kept while no connection takes them. At the bound no packet is taken that would
    // leave another; what then parts the gaps that there are lies in the replay window, so that
    // there are never more than this and half the window of them.
    static constexpr std::size_t kMaxGaps = 4 * kMaxPendingGaps;

    explicit ReceiveFlow(const ReceiveFlowSettings& settings);

    // The full number, where it is one that may come now: within the window and not seen before.
    std::optional<PacketNumber> check(std::uint32_t low) const;
    // `wire_bytes`: the datagram, for the ACK's pace; `file_bytes` for its totals. `arrived`: at
    // the host; those that came in one batch have one time.
    void accept(PacketNumber number, std::size_t wire_bytes, std::size_t file_bytes, Time arrived);
    void refuse() { ++refused_; }
    std::uint64_t refused() const { return refused_; }

    void handle_state(const State& state);
    void set_drops(std::uint64_t drops) { drops_ = drops; }

    // Gaps whose time has come; each is given once and then forgotten.
    const std::vector<Range>& take_naks(Time now);
    bool ack_due(Time now) const { return now >= ack_time(); }
    // Of datagrams, since the last ACK.
    std::size_t untold_bytes() const { return bytes_since_ack_; }
    // By what came last.
    SocketRoom room() const { return {settings_.buffer_bytes, last_bytes_}; }
    // The next ACK is due now: a connection stands that heard none.
    void ack_at_once() { last_ack_ = Time{}; }
    Ack take_ack(Time now, std::uint64_t credit);
    // When there is something to do without a packet coming.
    Time next_time() const;

    // For a new feedback connection: everything that is known of the last numbers, and all gaps
    // that wait are part of it.
    Snapshot take_snapshot(std::vector<std::byte>& storage);

    // The sender told of numbers above all that came.
    bool behind() const { return told_next_ > next_; }

    std::uint64_t packets() const { return packets_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t late() const { return late_; }
    std::uint64_t said_lost() const { return said_lost_; }  // numbers
    Duration tolerance() const { return tolerance_; }
    Duration rtt() const { return rtt_; }  // a guess, until the sender told it
    Duration told_rtt() const { return told_rtt_ ? rtt_ : Duration{}; }

  private:
    struct Gap {
        Range numbers;
        Time since{};
    };
    bool seen(PacketNumber number) const;
    void mark(PacketNumber number);
    void fill(PacketNumber number, Time now);
    void sample(PacketNumber number, Time now);
    Time ack_time() const;

    ReceiveFlowSettings settings_;
    std::vector<std::uint64_t> bitmap_;  // kReplayWindow bits, by number
    PacketNumber next_;                  // largest seen plus one
    PacketNumber told_next_ = 0;         // by the sender, likewise
    bool any_ = false, told_rtt_ = false;
    std::vector<Gap> gaps_;  // ascending
    std::vector<Range> naks_;
    std::uint64_t packets_ = 0, bytes_ = 0, late_ = 0, refused_ = 0, drops_ = 0, said_lost_ = 0;
    Duration rtt_ = std::chrono::milliseconds(100);
    Duration tolerance_ = std::chrono::milliseconds(1);
    Time last_ack_{};
    Time largest_arrival_{};
    Time last_sampled_{};
    std::size_t bytes_since_ack_ = 0, last_bytes_ = 0;
    std::uint64_t acks_told_ = 0;  // since anything arrived
    bool news_ = false;
    std::array<std::pair<PacketNumber, Time>, kAckSamples> samples_{};
    std::size_t sample_count_ = 0;
};

}  // namespace lambda::sabul
