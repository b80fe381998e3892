#include "common/sabul/feedback.h"

#include "common/base/assert.h"

namespace lambda::sabul {
namespace {

// Writes the frame header, and its length once the body stands.
class FrameWriter : public ByteWriter {
  public:
    FrameWriter(std::vector<std::byte>& out, FrameType type)
        : ByteWriter(out), bytes_(out), start_(out.size()) {
        u8(static_cast<std::uint8_t>(type));
        u24(0);
    }
    ~FrameWriter() {
        const std::size_t body = bytes_.size() - start_ - kFrameHeaderBytes;
        LAMBDA_ASSERT(body <= kMaxFrameBytes);
        bytes_[start_ + 1] = static_cast<std::byte>(body >> 16);
        bytes_[start_ + 2] = static_cast<std::byte>(body >> 8);
        bytes_[start_ + 3] = static_cast<std::byte>(body);
    }
    FrameWriter(const FrameWriter&) = delete;
    FrameWriter& operator=(const FrameWriter&) = delete;

  private:
    std::vector<std::byte>& bytes_;
    std::size_t start_;
};

// Small differences of either sign as small numbers: 0, -1, 1, -2, 2 as 0, 1, 2, 3, 4.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
    return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
    return value >> 1 ^ ((value & 1) != 0 ? ~std::uint64_t{0} : 0);
}

}  // namespace

std::optional<bool> Snapshot::received(PacketNumber number) const {
    LAMBDA_ASSERT(number < next);
    const PacketNumber index = next - 1 - number;
    if (index >= bitmap.size() * 8) return std::nullopt;
    return (std::to_integer<unsigned>(bitmap[index / 8]) >> (7 - index % 8) & 1) != 0;
}

void append_ack(std::vector<std::byte>& out, const Ack& ack) {
    FrameWriter frame(out, FrameType::ack);
    frame.u64(ack.cumulative);
    frame.u64(ack.largest);
    frame.u32(ack.hold_us);
    frame.u8(ack.sample_count);
    ArrivalTime before{};
    for (std::size_t i = 0; i < ack.sample_count; ++i) {
        const ArrivalTime& sample = ack.samples[i];
        LAMBDA_ASSERT(i == 0 || sample.back < before.back);
        frame.varint(i == 0 ? sample.back : before.back - sample.back);
        frame.varint(zigzag(sample.time_us - before.time_us));
        before = sample;
    }
    frame.u64(ack.packets);
    frame.u64(ack.bytes);
    frame.u64(ack.late);
    frame.u64(ack.refused);
    frame.u64(ack.drops);
    frame.u64(ack.credit);
    frame.u32(ack.buffer);
}

void append_nak(std::vector<std::byte>& out, const std::vector<Range>& ranges) {
    LAMBDA_ASSERT(!ranges.empty() && ranges.size() <= kMaxNakRanges);
    FrameWriter frame(out, FrameType::nak);
    PacketNumber behind = ranges.front().first;
    frame.u64(behind);
    for (const Range& range : ranges) {
        LAMBDA_ASSERT(range.first >= behind);
        if (&range != &ranges.front()) frame.varint(range.first - behind);
        frame.varint(range.length());
        behind = range.last;
    }
}

void append_snapshot(std::vector<std::byte>& out, const Snapshot& snapshot) {
    FrameWriter frame(out, FrameType::snapshot);
    frame.u64(snapshot.next);
    frame.bytes(snapshot.bitmap);
}

void append_stream(std::vector<std::byte>& out, std::uint64_t offset, ByteView bytes) {
    LAMBDA_ASSERT(!bytes.empty() && bytes.size() <= kMaxStreamBytes);
    FrameWriter frame(out, FrameType::stream);
    frame.u64(offset);
    frame.bytes(bytes);
}

void append_stream_ack(std::vector<std::byte>& out, std::uint64_t consumed) {
    FrameWriter(out, FrameType::stream_ack).u64(consumed);
}

void append_state(std::vector<std::byte>& out, const State& state) {
    FrameWriter frame(out, FrameType::state);
    frame.u32(state.rtt_us);
    frame.u64(state.next);
}

void append_spent(std::vector<std::byte>& out, std::span<const std::uint64_t> values) {
    LAMBDA_ASSERT(values.size() <= kMaxSpent);
    FrameWriter frame(out, FrameType::spent);
    frame.u8(static_cast<std::uint8_t>(values.size()));
    for (const std::uint64_t value : values) frame.u64(value);
}

std::optional<Ack> parse_ack(ByteView body) {
    ByteReader reader(body);
    Ack ack;
    ack.cumulative = reader.u64();
    ack.largest = reader.u64();
    ack.hold_us = reader.u32();
    ack.sample_count = reader.u8();
    if (ack.sample_count > kAckSamples || ack.cumulative > ack.largest) return std::nullopt;
    std::uint64_t back = 0, time_us = 0;
    for (std::size_t i = 0; i < ack.sample_count; ++i) {
        const std::uint64_t numbers = reader.varint();
        if (i > 0 && (numbers == 0 || numbers > back)) return std::nullopt;
        back = i == 0 ? numbers : back - numbers;
        time_us += unzigzag(reader.varint());
        if (back >= ack.largest || back > UINT32_MAX || time_us > kLatestArrivalUs)
            return std::nullopt;
        ack.samples[i] = {static_cast<std::uint32_t>(back), time_us};
    }
    ack.packets = reader.u64();
    ack.bytes = reader.u64();
    ack.late = reader.u64();
    ack.refused = reader.u64();
    ack.drops = reader.u64();
    ack.credit = reader.u64();
    ack.buffer = reader.u32();
    if (!reader.finished()) return std::nullopt;
    return ack;
}

std::optional<std::vector<Range>> parse_nak(ByteView body) {
    ByteReader reader(body);
    std::vector<Range> ranges;
    PacketNumber first = reader.u64();
    while (ranges.size() < kMaxNakRanges) {
        const Range range{first, first + reader.varint()};
        if (!reader.ok() || range.empty()) return std::nullopt;
        ranges.push_back(range);
        if (reader.finished()) return ranges;
        first = range.last + reader.varint();
        if (first < range.last) return std::nullopt;
    }
    return std::nullopt;
}

std::optional<Snapshot> parse_snapshot(ByteView body) {
    ByteReader reader(body);
    Snapshot snapshot;
    snapshot.next = reader.u64();
    if (!reader.ok() || reader.left() > kReplayWindow / 8) return std::nullopt;
    snapshot.bitmap = reader.bytes(reader.left());
    return snapshot;
}

std::optional<StreamPiece> parse_stream(ByteView body) {
    ByteReader reader(body);
    StreamPiece piece;
    piece.offset = reader.u64();
    if (!reader.ok() || reader.left() == 0 || reader.left() > kMaxStreamBytes) return std::nullopt;
    piece.bytes = reader.bytes(reader.left());
    return piece;
}

std::optional<std::uint64_t> parse_stream_ack(ByteView body) {
    ByteReader reader(body);
    const std::uint64_t consumed = reader.u64();
    if (!reader.finished()) return std::nullopt;
    return consumed;
}

std::optional<State> parse_state(ByteView body) {
    ByteReader reader(body);
    State state;
    state.rtt_us = reader.u32();
    state.next = reader.u64();
    if (!reader.finished()) return std::nullopt;
    return state;
}

bool parse_spent(ByteView body, std::span<std::uint64_t> into) {
    ByteReader reader(body);
    const std::size_t count = reader.u8();
    if (!reader.ok() || count > kMaxSpent || reader.left() != count * sizeof(std::uint64_t))
        return false;
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = i < count ? reader.u64() : 0;
    return true;
}

void Framer::put(ByteView bytes) {
    if (broken_) return;
    if (consumed_ > 0) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(consumed_));
        consumed_ = 0;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> Framer::next() {
    const ByteView rest = ByteView(buffer_).subspan(consumed_);
    if (broken_ || rest.size() < kFrameHeaderBytes) return std::nullopt;
    ByteReader reader(rest);
    Frame frame;
    frame.type = reader.u8();
    const std::size_t length = reader.u24();
    if (length > kMaxFrameBytes) {
        broken_ = true;
        return std::nullopt;
    }
    if (reader.left() < length) return std::nullopt;
    frame.body = reader.bytes(length);
    consumed_ += kFrameHeaderBytes + length;
    return frame;
}

}  // namespace lambda::sabul
