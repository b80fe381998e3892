// Records from the bytes of a peer: nothing malformed passes.
#include <cstring>

#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/record_type.h"

namespace lambda::transfer {
namespace {

Fault read_fault(ByteReader& reader) {
    const std::uint8_t value = reader.u8();
    // A fault that a later version added is a failed file here.
    return value > static_cast<std::uint8_t>(Fault::unsupported) ? Fault::file
                                                                 : static_cast<Fault>(value);
}

// What is only for people to read. Longer ones are cut, as where they are written.
std::string read_text(ByteReader& reader, std::size_t most = kMaxTextBytes) {
    std::string text = reader.string16();
    if (text.size() > most) text.resize(most);
    return text;
}

template <typename D = Digest>
D read_digest(ByteReader& reader) {
    D digest{};
    const ByteView bytes = reader.bytes(digest.size());
    if (bytes.size() == digest.size()) std::memcpy(digest.data(), bytes.data(), digest.size());
    return digest;
}

// False: malformed.
bool read_archived(ByteReader& reader, std::optional<ports::Archived>& into) {
    const std::uint8_t there = reader.u8();
    if (there == 0) return reader.ok();
    ports::Archived archived;
    archived.owner.user = reader.u32();
    archived.owner.group = reader.u32();
    const std::size_t count = reader.u16();
    if (there != 1 || !reader.ok() || count > kMaxExtended) return false;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        ports::ExtendedAttribute attribute;
        attribute.name = reader.string16();
        const ByteView value = reader.bytes(reader.u32());
        bytes += attribute.name.size() + value.size();
        if (!reader.ok() || bytes > kMaxExtendedBytes || attribute.name.empty() ||
            attribute.name.find('\0') != std::string::npos) {
            return false;
        }
        attribute.value.assign(reinterpret_cast<const char*>(value.data()), value.size());
        archived.extended.push_back(std::move(attribute));
    }
    into = std::move(archived);
    return true;
}

bool read_metadata(ByteReader& reader, ports::FileMetadata& into) {
    into.mtime_ns = reader.i64();
    into.mode = reader.u32();
    return read_archived(reader, into.archived);
}

// Ascending, not overlapping, from leaf bound to leaf bound; the last may end at `size`.
bool valid(const std::vector<Range>& ranges, std::uint64_t size) {
    std::uint64_t end = 0;
    for (const Range& range : ranges) {
        if (range.empty() || range.first % kLeafBytes != 0 || range.first < end) return false;
        if (range.last > size || (range.last % kLeafBytes != 0 && range.last != size)) return false;
        end = range.last;
    }
    return true;
}

bool valid(const FileRecord& r) {
    return acceptable_name(r.name) && r.size <= INT64_MAX && r.place <= INT64_MAX &&
           valid(r.data, r.size);
}

// The rest of a record: a count, and so many ranges.
bool read_ranges(ByteReader& reader, std::vector<Range>& ranges) {
    const std::uint32_t count = reader.u32();
    if (!reader.ok() || count > kMaxDataRanges || reader.left() != std::size_t{count} * 16)
        return false;
    ranges.resize(count);
    for (Range& range : ranges) {
        range.first = reader.u64();
        range.last = reader.u64();
    }
    return true;
}

std::optional<Record> parse_file(ByteReader& reader) {
    FileRecord r;
    r.file = reader.u32();
    r.place = reader.u64();
    r.size = reader.u64();
    r.mtime_ns = reader.i64();
    r.mode = reader.u32();
    r.id = reader.u64();
    if (!read_archived(reader, r.archived)) return std::nullopt;
    r.name = reader.string16();
    if (!read_ranges(reader, r.data) || !valid(r)) return std::nullopt;
    return r;
}

std::optional<Record> parse_directory(ByteReader& reader) {
    DirectoryRecord r;
    r.entry = reader.u32();
    if (!read_metadata(reader, r.metadata)) return std::nullopt;
    r.name = reader.string16();
    if (r.name != "." && !acceptable_name(r.name)) return std::nullopt;
    return r;
}

std::optional<Record> parse_link(ByteReader& reader) {
    LinkRecord r;
    r.entry = reader.u32();
    if (!read_metadata(reader, r.metadata)) return std::nullopt;
    r.name = reader.string16();
    r.shows = reader.string16();
    const bool sound = acceptable_name(r.name) && !r.shows.empty() &&
                       r.shows.size() <= kMaxNameBytes && r.shows.find('\0') == std::string::npos;
    if (!sound) return std::nullopt;
    return r;
}

std::optional<Record> parse_same(ByteReader& reader) {
    SameRecord r;
    r.entry = reader.u32();
    r.name = reader.string16();
    r.first = reader.string16();
    if (!acceptable_name(r.name) || !acceptable_name(r.first)) return std::nullopt;
    return r;
}

bool read_rules(ByteReader& reader, std::vector<Rule>& rules) {
    const std::size_t count = reader.u16();
    if (count > kMaxRules) return false;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count && reader.ok() && bytes <= kMaxRuleBytes; ++i) {
        const bool include = reader.u8() != 0;
        rules.push_back({include, reader.string16()});
        bytes += rules.back().pattern.size();
    }
    return reader.ok() && bytes <= kMaxRuleBytes;
}

std::optional<Record> parse_walk(ByteReader& reader) {
    WalkRecord r;
    const std::uint8_t links = reader.u8();
    r.archive = reader.u8() != 0;
    if (links > static_cast<std::uint8_t>(ports::Links::skip)) return std::nullopt;
    r.links = static_cast<ports::Links>(links);
    if (!read_rules(reader, r.rules)) return std::nullopt;
    return r;
}

std::optional<Record> parse_sync(ByteReader& reader) {
    SyncRecord r;
    const std::uint8_t flags = reader.u8();
    bool* const into[] = {&r.whole,    &r.erase,           &r.dry_run,  &r.update,
                          &r.existing, &r.ignore_existing, &r.checksum, &r.tells};
    for (unsigned i = 0; i < std::size(into); ++i) *into[i] = (flags >> i & 1) != 0;
    r.max_delete = reader.u64();
    if (!read_rules(reader, r.rules)) return std::nullopt;
    return r;
}

std::optional<Record> parse_offer(ByteReader& reader) {
    using Kind = OfferRecord::Kind;
    OfferRecord r;
    const std::uint8_t kind = reader.u8();
    if (kind > static_cast<std::uint8_t>(Kind::skipped)) return std::nullopt;
    r.kind = static_cast<Kind>(kind);
    if (r.kind == Kind::leave) return r;
    r.further = reader.u8();
    r.metadata.size = reader.u64();
    if (!read_metadata(reader, r.metadata)) return std::nullopt;
    r.leaf = reader.string16();
    r.text = reader.string16();
    const bool itself = r.kind == Kind::directory && r.leaf == ".";
    const bool leaf = acceptable_name(r.leaf) && r.leaf.find('/') == std::string::npos;
    if ((!itself && !leaf) || r.text.size() > kMaxNameBytes) return std::nullopt;
    if (r.kind == Kind::same && !acceptable_name(r.text)) return std::nullopt;
    return r;
}

std::optional<Record> parse_verdicts(ByteReader& reader) {
    VerdictsRecord r;
    r.first = reader.u32();
    const ByteView codes = reader.bytes(reader.u16());
    for (const std::byte each : codes) {
        if (std::to_integer<std::uint8_t>(each) > kLastVerdict) return std::nullopt;
        r.codes.push_back(std::to_integer<std::uint8_t>(each));
    }
    return r;
}

std::optional<Record> parse(RecordType type, ByteReader& reader) {
    switch (type) {
        case RecordType::file:
            return parse_file(reader);
        case RecordType::void_: {
            VoidRecord r;
            r.file = reader.u32();
            r.offsets.first = reader.u64();
            r.offsets.last = reader.u64();
            r.fault = read_fault(reader);
            r.message = read_text(reader);
            return r;
        }
        case RecordType::close: {
            CloseRecord r;
            r.file = reader.u32();
            r.size = reader.u64();
            r.mtime_ns = reader.i64();
            r.digest = read_digest(reader);
            return r;
        }
        case RecordType::strong: {
            StrongRecord r;
            r.file = reader.u32();
            r.digest = read_digest<Sha256>(reader);
            return r;
        }
        case RecordType::fail: {
            FailRecord r;
            r.name = read_text(reader, kMaxNameBytes);
            r.fault = read_fault(reader);
            r.message = read_text(reader);
            r.remedy = read_text(reader);
            return r;
        }
        case RecordType::finish:
            return FinishRecord{reader.u64()};
        case RecordType::drop:
            return DropRecord{reader.u64()};
        case RecordType::leaf: {
            LeafRecord r;
            r.file = reader.u32();
            r.offset = reader.u64();
            r.digest = read_digest(reader);
            if (r.offset % kLeafBytes != 0) return std::nullopt;
            return r;
        }
        case RecordType::changed:
            return ChangedRecord{reader.u32()};
        case RecordType::nothing:
            return NothingRecord{};
        case RecordType::have: {
            HaveRecord r;
            r.file = reader.u32();
            // Where the file ends is for who knows it to check.
            if (!read_ranges(reader, r.offsets)) return std::nullopt;
            if (!r.offsets.empty() && !valid(r.offsets, r.offsets.back().last)) return std::nullopt;
            return r;
        }
        case RecordType::compared:
            return ComparedRecord{};
        case RecordType::want: {
            WantRecord r;
            r.name = reader.string16();
            const std::uint8_t flags = reader.u8();
            r.pattern = (flags & 1) != 0;
            r.contents = (flags & 2) != 0;
            if (r.name.empty() || r.name.size() > kMaxNameBytes) return std::nullopt;
            if ((flags & 4) == 0) return r;
            r.found = reader.u16();
            const bool fits = r.found > 0 && r.found <= r.name.size() && !r.name.ends_with('/');
            if (!fits || r.pattern || r.contents) return std::nullopt;
            return r;
        }
        case RecordType::want_end:
            return WantEndRecord{};
        case RecordType::again: {
            AgainRecord r;
            r.file = reader.u32();
            r.offset = reader.u64();
            if (r.offset % kLeafBytes != 0) return std::nullopt;
            return r;
        }
        case RecordType::done: {
            DoneRecord r;
            r.file = reader.u32();
            r.digest = read_digest(reader);
            return r;
        }
        case RecordType::refuse: {
            RefuseRecord r;
            r.file = reader.u32();
            r.fault = read_fault(reader);
            r.message = read_text(reader);
            r.remedy = read_text(reader);
            return r;
        }
        case RecordType::set_done: {
            SetDoneRecord r;
            r.done = reader.u64();
            r.failed = reader.u64();
            r.unowned = reader.u64();
            return r;
        }
        case RecordType::directory:
            return parse_directory(reader);
        case RecordType::leave:
            return LeaveRecord{reader.u32()};
        case RecordType::link:
            return parse_link(reader);
        case RecordType::same:
            return parse_same(reader);
        case RecordType::frontier: {
            const FrontierRecord r{reader.u64()};
            if (r.place > INT64_MAX) return std::nullopt;
            return r;
        }
        case RecordType::skip: {
            SkipRecord r;
            r.name = read_text(reader, kMaxNameBytes);
            r.why = read_text(reader);
            return r;
        }
        case RecordType::walk:
            return parse_walk(reader);
        case RecordType::sync:
            return parse_sync(reader);
        case RecordType::offer:
            return parse_offer(reader);
        case RecordType::offered: {
            OfferedRecord r;
            r.offers = reader.u64();
            r.faults = reader.u64();
            return r;
        }
        case RecordType::digest: {
            DigestRecord r;
            r.offer = reader.u32();
            const std::uint8_t what = reader.u8();
            if (what > kBothDigests) return std::nullopt;
            if (what < kBothDigests) r.what = static_cast<DigestRecord::What>(what);
            r.digests.xxh3 = read_digest(reader);
            if (what == kBothDigests) r.digests.sha256 = read_digest<Sha256>(reader);
            return r;
        }
        case RecordType::holds:
            return HoldsRecord{reader.u8() != 0};
        case RecordType::verdicts:
            return parse_verdicts(reader);
        case RecordType::settled: {
            SettledRecord r;
            r.offer = reader.u32();
            r.verdict = reader.u8();
            if (r.verdict > kLastVerdict) return std::nullopt;
            return r;
        }
        case RecordType::gone: {
            GoneRecord r;
            r.directory = reader.u8() != 0;
            r.name = read_text(reader, kMaxNameBytes);
            return r;
        }
        case RecordType::missed: {
            MissedRecord r;
            r.name = read_text(reader, kMaxNameBytes);
            r.fault = read_fault(reader);
            r.message = read_text(reader);
            r.remedy = read_text(reader);
            r.verdict = reader.u8();
            r.size = reader.u64();
            if (r.verdict > kLastVerdict) return std::nullopt;
            return r;
        }
    }
    return std::nullopt;
}

}  // namespace

void RecordReader::put(ByteView bytes) {
    if (broken_) return;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(consumed_));
    consumed_ = 0;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Record> RecordReader::next() {
    if (broken_) return std::nullopt;
    ByteReader header(ByteView(buffer_).subspan(consumed_));
    const std::uint8_t type = header.u8();
    const std::size_t length = header.u24();
    if (!header.ok()) return std::nullopt;
    if (length > kMaxRecordBytes) {
        broken_ = true;
        return std::nullopt;
    }
    if (header.left() < length) return std::nullopt;
    ByteReader body(header.bytes(length));
    consumed_ += kRecordHeader + length;
    std::optional<Record> record = parse(static_cast<RecordType>(type), body);
    if (!record || !body.finished()) {
        broken_ = true;
        return std::nullopt;
    }
    return record;
}

}  // namespace lambda::transfer
