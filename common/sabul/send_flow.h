// The sender's half of one SABUL flow: which numbers are open, what they carried, and what the
// feedback says of them. A number is used once; a loss is said once; what was lost goes back to the
// owner as ranges of places, to be sent again under fresh numbers (docs/protocol.md §4, §6). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/interval_set.h"
#include "common/base/time.h"
#include "common/sabul/congestion/law.h"
#include "common/sabul/feedback.h"
#include "common/sabul/rtt.h"

namespace lambda::sabul {

struct SentPacket {
    std::uint64_t place = 0;
    std::uint32_t bytes = 0;       // file bytes; 0: not data
    std::uint32_t wire_bytes = 0;  // UDP payload
    PacketType type = PacketType::data;
    bool copy = false;  // the news tell its places of another packet
    Time sent{};
};

// What one feedback record changed. The vectors are reused by the next call.
struct FlowNews {
    std::vector<Range> received;  // places, adjacent ones merged
    std::vector<Range> lost;      // places
    std::uint64_t received_packets = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t lost_packets = 0;  // data packets newly lost; a law sees each once
    PacketNumber lowest_lost = 0;
    Time first_lost_sent{}, last_lost_sent{};
    // By the receiver's own count, which runs ahead of what the ACK closes while a gap waits.
    std::uint64_t arrived_packets = 0, arrived_bytes = 0, late_packets = 0;
    std::array<Passage, kAckSamples> passages{};
    std::size_t passage_count = 0;
    Duration latest_rtt{0};                   // 0: none
    std::uint32_t largest_received_wire = 0;  // the longest datagram among the received
    std::uint32_t shortest_lost_wire = 0;     // the shortest among the lost; 0: none
    bool probe_lost = false;
};

class SendFlow {
  public:
    // Numbers that are settled above one that is open. A receiver says its gaps in their order, so
    // that the next ACK settles what lies below them; beyond this the lowest count as lost. So the
    // ring has a bound: this, and what is open.
    static constexpr std::uint64_t kMaxSettledAbove = kReplayWindow;

    explicit SendFlow(PacketNumber first = 0);

    PacketNumber next_number() const { return next_; }
    // Takes the next number for a packet that is about to leave.
    PacketNumber record(const SentPacket& packet);
    // The numbers from `first` to next_number() did not leave and never will: they are burned.
    void burn_from(PacketNumber first);

    // What the open numbers from `first` on carry, adjacent places merged.
    std::vector<Range> places_from(PacketNumber first);

    // Each returns news valid until the next call, or nothing where the peer speaks nonsense (a
    // number that was never sent).
    const FlowNews* handle_ack(const Ack& ack, Time now);
    // `numbers` ascend, and are not empty.
    const FlowNews* handle_nak(const std::vector<Range>& numbers);
    const FlowNews* handle_snapshot(const Snapshot& snapshot);
    // The flow's feedback is gone: all open numbers count as lost.
    const FlowNews& abandon();

    std::uint64_t open_packets() const { return open_packets_; }
    std::uint64_t open_bytes() const { return open_bytes_; }  // of UDP payload
    // Of those, what left after all that an ACK has told of, and so may still be on the path or in
    // the receiver's socket. What lies above a gap is open, and neither.
    std::uint64_t untold_bytes() const { return untold_bytes_; }
    const RttEstimator& rtt() const { return rtt_; }

  private:
    struct Entry {
        SentPacket packet;
        bool open = false;
    };
    Entry& entry(PacketNumber number) { return ring_[number & (ring_.size() - 1)]; }
    void grow();
    void begin_news();
    void receive(Entry& entry);
    void lose(PacketNumber number, Entry& entry);
    void close_prefix();
    void tell(PacketNumber next);
    std::uint64_t settled_above() const { return next_ - first_ - open_packets_; }

    std::vector<Entry> ring_;  // by number; a power of two
    PacketNumber first_;       // all below are closed
    PacketNumber next_;
    std::uint64_t open_packets_ = 0;
    std::uint64_t open_bytes_ = 0;
    PacketNumber told_;  // all below are told of, or closed; first_ at least
    std::uint64_t untold_bytes_ = 0;
    std::uint64_t late_ = 0;
    std::uint64_t arrived_packets_ = 0, arrived_bytes_ = 0;  // of the ACK that told the most
    RttEstimator rtt_;
    FlowNews news_;
};

}  // namespace lambda::sabul
