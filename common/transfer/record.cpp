#include "common/transfer/record.h"

#include "common/base/assert.h"
#include "common/transfer/record_type.h"

namespace lambda::transfer {
namespace {

std::string_view bounded(std::string_view text) {
    return text.substr(0, kMaxTextBytes);
}

std::uint8_t code(Fault fault) {
    return static_cast<std::uint8_t>(fault);
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

void write_metadata(ByteWriter& out, const ports::FileMetadata& metadata) {
    out.i64(metadata.mtime_ns);
    out.u32(metadata.mode);
    write_archived(out, metadata.archived);
}

void write_rules(ByteWriter& out, const std::vector<Rule>& rules) {
    out.u16(static_cast<std::uint16_t>(rules.size()));
    for (const Rule& rule : rules) {
        out.u8(rule.include ? 1 : 0);
        out.string16(rule.pattern);
    }
}

std::uint8_t sync_flags(const SyncRecord& r) {
    const bool flags[] = {r.whole,    r.erase,           r.dry_run,  r.update,
                          r.existing, r.ignore_existing, r.checksum, r.tells};
    std::uint8_t bits = 0;
    for (unsigned i = 0; i < std::size(flags); ++i) {
        if (flags[i]) bits = static_cast<std::uint8_t>(bits | 1u << i);
    }
    return bits;
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

    RecordType operator()(const FileRecord& r) const {
        out.u32(r.file);
        out.u64(r.place);
        out.u64(r.size);
        out.i64(r.mtime_ns);
        out.u32(r.mode);
        out.u64(r.id);
        write_archived(out, r.archived);
        out.string16(r.name);
        ranges(r.data);
        return RecordType::file;
    }
    RecordType operator()(const VoidRecord& r) const {
        out.u32(r.file);
        out.u64(r.offsets.first);
        out.u64(r.offsets.last);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        return RecordType::void_;
    }
    RecordType operator()(const CloseRecord& r) const {
        out.u32(r.file);
        out.u64(r.size);
        out.i64(r.mtime_ns);
        out.bytes(r.digest);
        return RecordType::close;
    }
    RecordType operator()(const StrongRecord& r) const {
        out.u32(r.file);
        out.bytes(r.digest);
        return RecordType::strong;
    }
    RecordType operator()(const FailRecord& r) const {
        out.string16(r.name);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        out.string16(bounded(r.remedy));
        return RecordType::fail;
    }
    RecordType operator()(const FinishRecord& r) const {
        out.u64(r.files);
        return RecordType::finish;
    }
    RecordType operator()(const DropRecord& r) const {
        out.u64(r.block);
        return RecordType::drop;
    }
    RecordType operator()(const LeafRecord& r) const {
        out.u32(r.file);
        out.u64(r.offset);
        out.bytes(r.digest);
        return RecordType::leaf;
    }
    RecordType operator()(const ChangedRecord& r) const {
        out.u32(r.file);
        return RecordType::changed;
    }
    RecordType operator()(const NothingRecord&) const { return RecordType::nothing; }
    RecordType operator()(const HaveRecord& r) const {
        out.u32(r.file);
        ranges(r.offsets);
        return RecordType::have;
    }
    RecordType operator()(const ComparedRecord&) const { return RecordType::compared; }
    RecordType operator()(const DirectoryRecord& r) const {
        out.u32(r.entry);
        write_metadata(out, r.metadata);
        out.string16(r.name);
        return RecordType::directory;
    }
    RecordType operator()(const LeaveRecord& r) const {
        out.u32(r.entry);
        return RecordType::leave;
    }
    RecordType operator()(const LinkRecord& r) const {
        out.u32(r.entry);
        write_metadata(out, r.metadata);
        out.string16(r.name);
        out.string16(r.shows);
        return RecordType::link;
    }
    RecordType operator()(const SameRecord& r) const {
        out.u32(r.entry);
        out.string16(r.name);
        out.string16(r.first);
        return RecordType::same;
    }
    RecordType operator()(const SkipRecord& r) const {
        out.string16(r.name);
        out.string16(bounded(r.why));
        return RecordType::skip;
    }
    RecordType operator()(const FrontierRecord& r) const {
        out.u64(r.place);
        return RecordType::frontier;
    }
    RecordType operator()(const WantRecord& r) const {
        out.string16(r.name);
        const bool found = r.found > 0;
        out.u8(static_cast<std::uint8_t>((r.pattern ? 1 : 0) | (r.contents ? 2 : 0) |
                                         (found ? 4 : 0)));
        if (found) out.u16(r.found);
        return RecordType::want;
    }
    RecordType operator()(const WantEndRecord&) const { return RecordType::want_end; }
    RecordType operator()(const AgainRecord& r) const {
        out.u32(r.file);
        out.u64(r.offset);
        return RecordType::again;
    }
    RecordType operator()(const DoneRecord& r) const {
        out.u32(r.file);
        out.bytes(r.digest);
        return RecordType::done;
    }
    RecordType operator()(const RefuseRecord& r) const {
        out.u32(r.file);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        out.string16(bounded(r.remedy));
        return RecordType::refuse;
    }
    RecordType operator()(const SetDoneRecord& r) const {
        out.u64(r.done);
        out.u64(r.failed);
        out.u64(r.unowned);
        return RecordType::set_done;
    }
    RecordType operator()(const WalkRecord& r) const {
        out.u8(static_cast<std::uint8_t>(r.links));
        out.u8(r.archive ? 1 : 0);
        write_rules(out, r.rules);
        return RecordType::walk;
    }
    RecordType operator()(const SyncRecord& r) const {
        out.u8(sync_flags(r));
        out.u64(r.max_delete);
        write_rules(out, r.rules);
        return RecordType::sync;
    }
    RecordType operator()(const OfferRecord& r) const {
        out.u8(static_cast<std::uint8_t>(r.kind));
        if (r.kind == OfferRecord::Kind::leave) return RecordType::offer;
        out.u8(r.further);
        out.u64(r.metadata.size);
        write_metadata(out, r.metadata);
        out.string16(r.leaf);
        out.string16(r.text);
        return RecordType::offer;
    }
    RecordType operator()(const OfferedRecord& r) const {
        out.u64(r.offers);
        out.u64(r.faults);
        return RecordType::offered;
    }
    RecordType operator()(const DigestRecord& r) const {
        out.u32(r.offer);
        const auto& sha256 = r.digests.sha256;
        out.u8(sha256 ? kBothDigests : static_cast<std::uint8_t>(r.what));
        out.bytes(r.digests.xxh3);
        if (sha256) out.bytes(*sha256);
        return RecordType::digest;
    }
    RecordType operator()(const HoldsRecord& r) const {
        out.u8(r.something ? 1 : 0);
        return RecordType::holds;
    }
    RecordType operator()(const VerdictsRecord& r) const {
        LAMBDA_ASSERT(r.codes.size() <= kMostVerdicts);
        out.u32(r.first);
        out.u16(static_cast<std::uint16_t>(r.codes.size()));
        out.bytes(std::as_bytes(std::span(r.codes)));
        return RecordType::verdicts;
    }
    RecordType operator()(const SettledRecord& r) const {
        out.u32(r.offer);
        out.u8(r.verdict);
        return RecordType::settled;
    }
    RecordType operator()(const GoneRecord& r) const {
        out.u8(r.directory ? 1 : 0);
        out.string16(r.name);
        return RecordType::gone;
    }
    RecordType operator()(const MissedRecord& r) const {
        out.string16(r.name);
        out.u8(code(r.fault));
        out.string16(bounded(r.message));
        out.string16(bounded(r.remedy));
        out.u8(r.verdict);
        out.u64(r.size);
        return RecordType::missed;
    }
};

}  // namespace

void append_record(std::vector<std::byte>& out, const Record& record) {
    const std::size_t start = out.size();
    ByteWriter writer(out);
    writer.u32(0);
    const RecordType type = std::visit(Writer{writer}, record);
    const std::size_t body = out.size() - start - kRecordHeader;
    LAMBDA_ASSERT(body <= kMaxRecordBytes);
    store_u32(&out[start],
              static_cast<std::uint32_t>(type) << 24 | static_cast<std::uint32_t>(body));
}

bool is_archive(const Record& record) {
    if (const auto* file = std::get_if<FileRecord>(&record)) return file->archived.has_value();
    if (const auto* directory = std::get_if<DirectoryRecord>(&record))
        return directory->metadata.archived.has_value();
    if (const auto* link = std::get_if<LinkRecord>(&record))
        return link->metadata.archived.has_value();
    const auto* offer = std::get_if<OfferRecord>(&record);
    return offer != nullptr && offer->metadata.archived.has_value();
}

}  // namespace lambda::transfer
