// The feedback records of a stripe, docs/protocol.md §4: encoding, and a framer that takes bytes as
// they come. Pure; a framer belongs to one connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/interval_set.h"
#include "common/sabul/packet.h"

namespace lambda::sabul {

enum class FrameType : std::uint8_t {
    ack = 1,
    nak = 2,
    snapshot = 3,
    stream = 4,
    stream_ack = 5,
    state = 6,
    spent = 7,
};

constexpr std::size_t kFrameHeaderBytes = 4;
constexpr std::size_t kMaxFrameBytes = 131072;
constexpr std::size_t kMaxNakRanges = 4096;
constexpr std::size_t kMaxStreamBytes = 65536;
// Numbers below the largest that a receiver remembers, for replays and for a snapshot.
constexpr std::size_t kReplayWindow = 65536;
// The least of so many delays, not the mean, tells the queue that stands: hosts send and read in
// bunches, and more often than four times in an interval.
constexpr std::size_t kAckSamples = 16;
constexpr std::size_t kMaxSpent = 64;

// Clocks count from the start of a machine: 35 years are no machine's.
constexpr std::uint64_t kLatestArrivalUs = 1ull << 50;

struct ArrivalTime {
    std::uint32_t back = 0;     // number = largest - 1 - back
    std::uint64_t time_us = 0;  // the receiver's clock, at most kLatestArrivalUs
    bool operator==(const ArrivalTime&) const = default;
};

struct Ack {
    PacketNumber cumulative = 0;
    PacketNumber largest = 0;  // plus one; 0: none yet
    std::uint32_t hold_us = 0;
    std::uint8_t sample_count = 0;
    std::array<ArrivalTime, kAckSamples> samples{};
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t late = 0;
    std::uint64_t refused = 0;
    std::uint64_t drops = 0;
    std::uint64_t credit = 0;
    std::uint32_t buffer = 0;
    bool operator==(const Ack&) const = default;
};

struct Snapshot {
    PacketNumber next = 0;
    ByteView bitmap;
    // Whether `number` (below next) was received; nothing where the bitmap does not reach.
    std::optional<bool> received(PacketNumber number) const;
};

struct State {
    std::uint32_t rtt_us = 0;
    PacketNumber next = 0;
};

// Each appends one whole frame.
void append_ack(std::vector<std::byte>& out, const Ack& ack);
void append_nak(std::vector<std::byte>& out, const std::vector<Range>& ranges);
void append_snapshot(std::vector<std::byte>& out, const Snapshot& snapshot);
void append_stream(std::vector<std::byte>& out, std::uint64_t offset, ByteView bytes);
void append_stream_ack(std::vector<std::byte>& out, std::uint64_t consumed);
void append_state(std::vector<std::byte>& out, const State& state);
// At most kMaxSpent values.
void append_spent(std::vector<std::byte>& out, std::span<const std::uint64_t> values);

// Nothing for a malformed body.
std::optional<Ack> parse_ack(ByteView body);
// Ascending, each beginning at the end of the one before or above.
std::optional<std::vector<Range>> parse_nak(ByteView body);
std::optional<Snapshot> parse_snapshot(ByteView body);
struct StreamPiece {
    std::uint64_t offset = 0;
    ByteView bytes;
};
std::optional<StreamPiece> parse_stream(ByteView body);
std::optional<std::uint64_t> parse_stream_ack(ByteView body);
std::optional<State> parse_state(ByteView body);
// As many values as `into` has; what is not there is 0, and what a later version has more is left
// out. False for a malformed body.
bool parse_spent(ByteView body, std::span<std::uint64_t> into);

struct Frame {
    std::uint8_t type = 0;  // FrameType, or one to skip
    ByteView body;          // valid until the next call to the framer
};

class Framer {
  public:
    void put(ByteView bytes);
    // The next whole frame, or nothing. Check broken() when it gives nothing.
    std::optional<Frame> next();
    // A frame longer than the limit was announced; nothing more comes.
    bool broken() const { return broken_; }

  private:
    std::vector<std::byte> buffer_;
    std::size_t consumed_ = 0;
    bool broken_ = false;
};

}  // namespace lambda::sabul
