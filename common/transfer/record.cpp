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
    want = 0x20,
    want_end = 0x21,
    done = 0x22,
    refuse = 0x23,
    set_done = 0x24,
    again = 0x25,
    nothing = 0x26,
    have = 0x27,
    compared = 0x28,
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
    Type operator()(const WantRecord& r) const {
        out.string16(r.name);
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
        return Type::set_done;
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
    r.name = reader.string16();
    if (!read_ranges(reader, r.data) || !valid(r)) return std::nullopt;
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
            WantRecord r{reader.string16()};
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
            return r;
        }
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

bool acceptable_name(std::string_view name) {
    if (name.empty() || name.size() > kMaxNameBytes || name.find('\0') != name.npos) return false;
    std::size_t start = 0;
    while (start <= name.size()) {
        const std::size_t end = std::min(name.find('/', start), name.size());
        const std::string_view part = name.substr(start, end - start);
        if (part.empty() || part == "." || part == "..") return false;
        start = end + 1;
    }
    return true;
}

}  // namespace lambda::transfer
