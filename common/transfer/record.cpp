#include "common/transfer/record.h"

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"

namespace lambda::transfer {
namespace {

enum class Type : std::uint8_t {
    file = 0x10,
    void_ = 0x11,
    close = 0x12,
    fail = 0x13,
    finish = 0x14,
    drop = 0x15,
    leaf = 0x16,
    directory = 0x17,
    leave = 0x18,
    link = 0x19,
    same = 0x1a,
    skip = 0x1b,
    frontier = 0x1c,
    want = 0x20,
    want_end = 0x21,
    done = 0x22,
    refuse = 0x23,
    set_done = 0x24,
    again = 0x25,
    nothing = 0x26,
    have = 0x27,
    compared = 0x28,
    walk = 0x29,
};

constexpr std::size_t kHeader = 4;
constexpr std::size_t kMaxTextBytes = 2048;

std::string_view bounded(std::string_view text) {
    return text.substr(0, kMaxTextBytes);
}

std::uint8_t code(Fault fault) {
    return static_cast<std::uint8_t>(fault);
}

Fault read_fault(ByteReader& reader) {
    const std::uint8_t value = reader.u8();
    // A fault that a later version added is a failed file here.
    return value > code(Fault::unsupported) ? Fault::file : static_cast<Fault>(value);
}

Digest read_digest(ByteReader& reader) {
    Digest digest{};
    const ByteView bytes = reader.bytes(digest.size());
    if (bytes.size() == digest.size()) std::memcpy(digest.data(), bytes.data(), digest.size());
    return digest;
}

void write_archived(ByteWriter& out, const std::optional<ports::Archived>& archived) {
    out.u8(archived ? 1 : 0);
    if (!archived) return;
    out.u32(archived->owner.user);
    out.u32(archived->owner.group);
    out.u16(static_cast<std::uint16_t>(archived->extended.size()));
    for (const ports::ExtendedAttribute& attribute : archived->extended) {
        out.string16(attribute.name);
        out.u32(static_cast<std::uint32_t>(attribute.value.size()));
        out.bytes(std::as_bytes(std::span(attribute.value)));
    }
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
    for (std::size_t i = 0; i < count; ++i) {
        ports::ExtendedAttribute attribute;
        attribute.name = reader.string16();
        const ByteView value = reader.bytes(reader.u32());
        if (!reader.ok() || attribute.name.empty() ||
            attribute.name.find('\0') != std::string::npos) {
            return false;
        }
        attribute.value.assign(reinterpret_cast<const char*>(value.data()), value.size());
        archived.extended.push_back(std::move(attribute));
    }
    into = std::move(archived);
    return true;
}

void write_metadata(ByteWriter& out, const ports::FileMetadata& metadata) {
    out.i64(metadata.mtime_ns);
    out.u32(metadata.mode);
    write_archived(out, metadata.archived);
}

bool read_metadata(ByteReader& reader, ports::FileMetadata& into) {
    into.mtime_ns = reader.i64();
    into.mode = reader.u32();
    return read_archived(reader, into.archived);
}

struct Writer {
    ByteWriter& out;

    void ranges(const std::vector<Range>& list) const {
        out.u32(static_cast<std::uint32_t>(list.size()));
        for (const Range& range : list) {
            out.u64(range.first);
            out.u64(range.last);
        }
    }

    Type operator()(const FileRecord& r) const {
        out.u32(r.file);
        out.u64(r.place);
        out.u64(r.size);
        out.i64(r.mtime_ns);
        out.u32(r.mode);
        out.u64(r.id);
        write_archived(out, r.archived);
        out.string16(r.name);
        ranges(r.data);
        return Type::file;
    }
    Type operator()(const VoidRecord& r) const {
        out.u32(r.file);
        out.u64(r.offsets.first);
        out.u64(r.offsets.last);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        return Type::void_;
    }
    Type operator()(const CloseRecord& r) const {
        out.u32(r.file);
        out.u64(r.size);
        out.i64(r.mtime_ns);
        out.bytes(r.digest);
        return Type::close;
    }
    Type operator()(const FailRecord& r) const {
        out.string16(r.name);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        out.string16(bounded(r.remedy));
        return Type::fail;
    }
    Type operator()(const FinishRecord& r) const {
        out.u64(r.files);
        return Type::finish;
    }
    Type operator()(const DropRecord& r) const {
        out.u64(r.block);
        return Type::drop;
    }
    Type operator()(const LeafRecord& r) const {
        out.u32(r.file);
        out.u64(r.offset);
        out.bytes(r.digest);
        return Type::leaf;
    }
    Type operator()(const NothingRecord&) const { return Type::nothing; }
    Type operator()(const HaveRecord& r) const {
        out.u32(r.file);
        ranges(r.offsets);
        return Type::have;
    }
    Type operator()(const ComparedRecord&) const { return Type::compared; }
    Type operator()(const DirectoryRecord& r) const {
        out.u32(r.entry);
        write_metadata(out, r.metadata);
        out.string16(r.name);
        return Type::directory;
    }
    Type operator()(const LeaveRecord& r) const {
        out.u32(r.entry);
        return Type::leave;
    }
    Type operator()(const LinkRecord& r) const {
        out.u32(r.entry);
        write_metadata(out, r.metadata);
        out.string16(r.name);
        out.string16(r.shows);
        return Type::link;
    }
    Type operator()(const SameRecord& r) const {
        out.u32(r.entry);
        out.string16(r.name);
        out.string16(r.first);
        return Type::same;
    }
    Type operator()(const SkipRecord& r) const {
        out.string16(r.name);
        out.string16(bounded(r.why));
        return Type::skip;
    }
    Type operator()(const FrontierRecord& r) const {
        out.u64(r.place);
        return Type::frontier;
    }
    Type operator()(const WantRecord& r) const {
        out.string16(r.name);
        out.u8(static_cast<std::uint8_t>((r.pattern ? 1 : 0) | (r.contents ? 2 : 0)));
        return Type::want;
    }
    Type operator()(const WantEndRecord&) const { return Type::want_end; }
    Type operator()(const AgainRecord& r) const {
        out.u32(r.file);
        out.u64(r.offset);
        return Type::again;
    }
    Type operator()(const DoneRecord& r) const {
        out.u32(r.file);
        out.bytes(r.digest);
        return Type::done;
    }
    Type operator()(const RefuseRecord& r) const {
        out.u32(r.file);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        out.string16(bounded(r.remedy));
        return Type::refuse;
    }
    Type operator()(const SetDoneRecord& r) const {
        out.u64(r.done);
        out.u64(r.failed);
        out.u64(r.unowned);
        return Type::set_done;
    }
    Type operator()(const WalkRecord& r) const {
        out.u8(static_cast<std::uint8_t>(r.links));
        out.u8(r.archive ? 1 : 0);
        out.u16(static_cast<std::uint16_t>(r.rules.size()));
        for (const Rule& rule : r.rules) {
            out.u8(rule.include ? 1 : 0);
            out.string16(rule.pattern);
        }
        return Type::walk;
    }
};

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

std::optional<Record> parse_walk(ByteReader& reader) {
    WalkRecord r;
    const std::uint8_t links = reader.u8();
    r.archive = reader.u8() != 0;
    const std::size_t count = reader.u16();
    if (links > static_cast<std::uint8_t>(ports::Links::skip) || count > kMaxRules) {
        return std::nullopt;
    }
    r.links = static_cast<ports::Links>(links);
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        const bool include = reader.u8() != 0;
        r.rules.push_back({include, reader.string16()});
    }
    return r;
}

std::optional<Record> parse(Type type, ByteReader& reader) {
    switch (type) {
        case Type::file:
            return parse_file(reader);
        case Type::void_: {
            VoidRecord r;
            r.file = reader.u32();
            r.offsets.first = reader.u64();
            r.offsets.last = reader.u64();
            r.fault = read_fault(reader);
            r.message = reader.string16();
            return r;
        }
        case Type::close: {
            CloseRecord r;
            r.file = reader.u32();
            r.size = reader.u64();
            r.mtime_ns = reader.i64();
            r.digest = read_digest(reader);
            return r;
        }
        case Type::fail: {
            FailRecord r;
            r.name = reader.string16();
            r.fault = read_fault(reader);
            r.message = reader.string16();
            r.remedy = reader.string16();
            return r;
        }
        case Type::finish:
            return FinishRecord{reader.u64()};
        case Type::drop:
            return DropRecord{reader.u64()};
        case Type::leaf: {
            LeafRecord r;
            r.file = reader.u32();
            r.offset = reader.u64();
            r.digest = read_digest(reader);
            if (r.offset % kLeafBytes != 0) return std::nullopt;
            return r;
        }
        case Type::nothing:
            return NothingRecord{};
        case Type::have: {
            HaveRecord r;
            r.file = reader.u32();
            // Where the file ends is for who knows it to check.
            if (!read_ranges(reader, r.offsets)) return std::nullopt;
            if (!r.offsets.empty() && !valid(r.offsets, r.offsets.back().last)) return std::nullopt;
            return r;
        }
        case Type::compared:
            return ComparedRecord{};
        case Type::want: {
            WantRecord r;
            r.name = reader.string16();
            const std::uint8_t flags = reader.u8();
            r.pattern = (flags & 1) != 0;
            r.contents = (flags & 2) != 0;
            if (r.name.empty() || r.name.size() > kMaxNameBytes) return std::nullopt;
            return r;
        }
        case Type::want_end:
            return WantEndRecord{};
        case Type::again: {
            AgainRecord r;
            r.file = reader.u32();
            r.offset = reader.u64();
            if (r.offset % kLeafBytes != 0) return std::nullopt;
            return r;
        }
        case Type::done: {
            DoneRecord r;
            r.file = reader.u32();
            r.digest = read_digest(reader);
            return r;
        }
        case Type::refuse: {
            RefuseRecord r;
            r.file = reader.u32();
            r.fault = read_fault(reader);
            r.message = reader.string16();
            r.remedy = reader.string16();
            return r;
        }
        case Type::set_done: {
            SetDoneRecord r;
            r.done = reader.u64();
            r.failed = reader.u64();
            r.unowned = reader.u64();
            return r;
        }
        case Type::directory:
            return parse_directory(reader);
        case Type::leave:
            return LeaveRecord{reader.u32()};
        case Type::link:
            return parse_link(reader);
        case Type::same:
            return parse_same(reader);
        case Type::frontier: {
            const FrontierRecord r{reader.u64()};
            if (r.place > INT64_MAX) return std::nullopt;
            return r;
        }
        case Type::skip: {
            SkipRecord r;
            r.name = reader.string16();
            r.why = reader.string16();
            return r;
        }
        case Type::walk:
            return parse_walk(reader);
    }
    return std::nullopt;
}

}  // namespace

void append_record(std::vector<std::byte>& out, const Record& record) {
    const std::size_t start = out.size();
    ByteWriter writer(out);
    writer.u32(0);
    const Type type = std::visit(Writer{writer}, record);
    const std::size_t body = out.size() - start - kHeader;
    LAMBDA_ASSERT(body <= kMaxRecordBytes);
    store_u32(&out[start],
              static_cast<std::uint32_t>(type) << 24 | static_cast<std::uint32_t>(body));
}

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
    consumed_ += kHeader + length;
    std::optional<Record> record = parse(static_cast<Type>(type), body);
    if (!record || !body.finished()) {
        broken_ = true;
        return std::nullopt;
    }
    return record;
}

}  // namespace lambda::transfer
