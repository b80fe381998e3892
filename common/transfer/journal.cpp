#include "common/transfer/journal.h"

#include <xxhash.h>

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::transfer {
namespace {

constexpr std::uint64_t kMagic = 0x6c616d6264614a31;  // "lambdaJ1"
constexpr std::size_t kFixedBytes = 6 * 8 + 4 + 8;
static_assert(kFixedBytes + kMaxDataRanges * 16 <= Journal::kSlotBytes);

struct Found {
    std::uint64_t sequence = 0;
    IntervalSet ranges;
};

std::optional<Found> decode(ByteView slot, const SourceIdentity& identity) {
    ByteReader reader(slot);
    const bool ours = reader.u64() == kMagic;
    Found found;
    found.sequence = reader.u64();
    SourceIdentity of;
    of.size = reader.u64();
    of.mtime_ns = reader.i64();
    of.id = reader.u64();
    of.layout = reader.u64();
    const std::uint32_t count = reader.u32();
    if (!ours || !reader.ok() || !(of == identity) || count > kMaxDataRanges) return std::nullopt;
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Range range{reader.u64(), reader.u64()};
        const bool sound = !range.empty() && range.first >= end && range.last <= identity.size &&
                           range.first % kLeafBytes == 0 &&
                           (range.last % kLeafBytes == 0 || range.last == identity.size);
        if (!reader.ok() || !sound) return std::nullopt;
        end = range.last;
        found.ranges.insert(range);
    }
    const std::size_t covered = slot.size() - reader.left();
    if (reader.u64() != XXH3_64bits(slot.data(), covered) || !reader.ok()) return std::nullopt;
    return found;
}

std::optional<Found> newest(ByteView file, const SourceIdentity& identity) {
    std::optional<Found> best;
    for (std::size_t at = 0; at < std::min(file.size(), Journal::kMaxBytes);
         at += Journal::kSlotBytes) {
        auto found =
            decode(file.subspan(at, std::min(Journal::kSlotBytes, file.size() - at)), identity);
        if (found && (!best || found->sequence > best->sequence)) best = std::move(found);
    }
    return best;
}

}  // namespace

SourceIdentity identity_of(const FileRecord& record) {
    std::vector<std::byte> layout;
    ByteWriter writer(layout);
    for (const Range& range : record.data) {
        writer.u64(range.first);
        writer.u64(range.last);
    }
    return {record.size, record.mtime_ns, record.id, XXH3_64bits(layout.data(), layout.size())};
}

Journal::Journal(const FileRecord& record) : identity_(identity_of(record)) {
    durable_.insert({0, record.size});
    for (const Range& range : record.data) durable_.erase(range);
}

bool Journal::fits(ByteView file, const SourceIdentity& identity) {
    return newest(file, identity).has_value();
}

bool Journal::take_up(ByteView file) {
    auto found = newest(file, identity_);
    if (!found) return false;
    sequence_ = found->sequence;
    for (const Range& range : found->ranges.ranges()) durable_.insert(range);
    return true;
}

void Journal::forget(Range offsets) {
    durable_.erase(offsets);
    written_.erase(offsets);
    syncing_.erase(offsets);
}

std::optional<Journal::Image> Journal::begin_sync() {
    LAMBDA_ASSERT(syncing_.empty());
    for (const Range& range : written_.ranges()) {
        const Range leaves = whole(range, kLeafBytes);
        if (!leaves.empty()) syncing_.insert(leaves);
    }
    if (syncing_.empty()) return std::nullopt;
    IntervalSet after = durable_;
    for (const Range& range : syncing_.ranges()) {
        written_.erase(range);
        after.insert(range);
    }
    ++sequence_;
    return Image{sequence_ % 2 * kSlotBytes, encode(after)};
}

void Journal::end_sync() {
    for (const Range& range : syncing_.ranges()) durable_.insert(range);
    syncing_.clear();
}

std::vector<Range> Journal::durable(std::uint64_t unit) const {
    std::vector<Range> ranges;
    for (const Range& range : durable_.ranges()) {
        const Range inside = whole(range, unit);
        if (!inside.empty() && ranges.size() < kMaxDataRanges) ranges.push_back(inside);
    }
    return ranges;
}

// What whole units of it lie in a range; the last unit of a file may be short.
Range Journal::whole(Range offsets, std::uint64_t unit) const {
    const std::uint64_t first = (offsets.first + unit - 1) / unit * unit;
    const std::uint64_t last =
        offsets.last == identity_.size ? offsets.last : offsets.last / unit * unit;
    return {first, std::max(first, last)};
}

std::vector<std::byte> Journal::encode(const IntervalSet& ranges) const {
    std::vector<std::byte> image;
    ByteWriter writer(image);
    writer.u64(kMagic);
    writer.u64(sequence_);
    writer.u64(identity_.size);
    writer.i64(identity_.mtime_ns);
    writer.u64(identity_.id);
    writer.u64(identity_.layout);
    const std::size_t count = std::min(ranges.ranges().size(), kMaxDataRanges);
    writer.u32(static_cast<std::uint32_t>(count));
    for (const Range& range : std::span(ranges.ranges()).first(count)) {
        writer.u64(range.first);
        writer.u64(range.last);
    }
    writer.u64(XXH3_64bits(image.data(), image.size()));
    return image;
}

}  // namespace lambda::transfer
