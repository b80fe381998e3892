// The records of the set stream, docs/protocol.md §7: what the files are, where they lie, what will
// not come, and what became of each. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/interval_set.h"
#include "common/base/result.h"
#include "common/ports/walker.h"
#include "common/transfer/digest.h"
#include "common/transfer/sha256.h"

namespace lambda::transfer {

// Of files, directories and links alike, in the order in which they are announced.
using FileNumber = std::uint32_t;

constexpr std::size_t kMaxNameBytes = ports::kLongestName;
constexpr std::size_t kMaxDataRanges = 16384;
constexpr std::size_t kMaxRecordBytes = 512 * 1024;
// Names and values of one entry's extended attributes; a sender fails an entry that has more.
constexpr std::size_t kMaxExtendedBytes = 192 * 1024;
constexpr std::size_t kMaxExtended = 1024;
// Patterns of a transfer and their bytes.
constexpr std::size_t kMaxRules = 4096;
constexpr std::size_t kMaxRuleBytes = 256 * 1024;

struct FileRecord {
    FileNumber file = 0;
    std::uint64_t place = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::uint32_t mode = 0;
    std::uint64_t id = 0;  // of the file at the source, for its whole life
    std::optional<ports::Archived> archived{};
    std::string name;
    std::vector<Range>
        data;  // file offsets on leaf bounds (the last may end at size); the rest is hole
};
// What it holds follows, up to its LeaveRecord.
struct DirectoryRecord {
    FileNumber entry = 0;
    ports::FileMetadata metadata;  // without a size
    std::string name;              // "." alone: the target itself
};
// Of the innermost directory.
struct LeaveRecord {
    FileNumber entry = 0;
};
struct LinkRecord {
    FileNumber entry = 0;
    ports::FileMetadata metadata;  // without a size
    std::string name;
    std::string shows;
};
// Another name of an entry that was announced before.
struct SameRecord {
    FileNumber entry = 0;
    std::string name;
    std::string first;
};
// No later file begins below this place: the block of small ones before it is described.
struct FrontierRecord {
    std::uint64_t place = 0;
};
// Not sent, and no failure.
struct SkipRecord {
    std::string name;
    std::string why;
};
struct VoidRecord {
    FileNumber file = 0;
    Range offsets;
    Fault fault = Fault::file;
    std::string message;
};
struct CloseRecord {
    FileNumber file = 0;
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    Digest digest{};
};
// The source was written to while it was sent, and kept its size: the digest of each leaf of it
// follows, holes among them, by LeafRecord. Before its CLOSE.
struct ChangedRecord {
    FileNumber file = 0;
};
// Ahead of the file's CLOSE, where the terms have sha256: FileDigest::finish_strong().
struct StrongRecord {
    FileNumber file = 0;
    Sha256 digest{};
};
struct FailRecord {
    std::string name;
    Fault fault = Fault::file;
    std::string message;
    std::string remedy;
};
struct FinishRecord {
    std::uint64_t files = 0;
};
// The sender gave up a block that it had opened; its credit returns.
struct DropRecord {
    std::uint64_t block = 0;
};
// The digest of a leaf that the receiver has from an earlier transfer, as it is at the source now.
struct LeafRecord {
    FileNumber file = 0;
    std::uint64_t offset = 0;
    Digest digest{};
};
// LEAF records that the receiver did not answer yet, at most.
constexpr std::size_t kMaxLeavesTold = 1024;

struct WantRecord {
    std::string name;
    bool pattern = false;   // the name has wildcards
    bool contents = false;  // what the directory holds lands in the target itself
    // So many bytes at the end of the name are of a file that was found before: no link in them is
    // followed. 0 beside the two above.
    std::uint16_t found = 0;
    bool operator==(const WantRecord&) const = default;
};
struct Rule {
    bool include = false;
    std::string pattern;
    bool operator==(const Rule&) const = default;
};
// How the wanted are walked. Before the first WANT.
struct WalkRecord {
    ports::Links links = ports::Links::keep;
    bool archive = false;
    std::vector<Rule> rules;
};
struct WantEndRecord {};

// What a sync is to do (docs/sync.md), from the client to the other end; before the first OFFER and
// the first WANT. Without it: what every transfer of a tree gets.
struct SyncRecord {
    bool whole = false;            // a sync: all is offered
    bool erase = false;            // what the source does not have goes
    bool dry_run = false;          // nothing is touched
    bool update = false;           // a file that is newer at the target stays
    bool existing = false;         // what the target does not have is not made
    bool ignore_existing = false;  // what the target has stays
    bool checksum = false;         // content is compared by digest
    bool tells = false;            // files that lie in no tree are offered, too
    std::uint64_t max_delete = UINT64_MAX;
    std::vector<Rule> rules{};  // what they leave out is not deleted

    // Nothing is asked for but what every transfer gets.
    bool is_default() const { return !whole && !checksum && !tells; }
    bool operator==(const SyncRecord&) const = default;
};
// An entry before it is opened, so that the receiver can say whether it wants it. Those that have a
// verdict (all but `leave` and `skipped`) are numbered from 0.
struct OfferRecord {
    enum class Kind : std::uint8_t {
        file = 0,
        directory = 1,  // entered with it
        leave = 2,      // the innermost directory; nothing else is set
        link = 3,
        same = 4,
        skipped = 5,  // stands at the source, and is not sent
    };
    Kind kind = Kind::file;
    std::uint8_t further = 0;  // names of a file or link beside it; the most: or more
    ports::FileMetadata metadata;
    std::string leaf;  // the last component of the name; ".": the target itself
    std::string text;  // what a link shows; the first name
};
// No more offers.
struct OfferedRecord {
    std::uint64_t offers = 0;
    std::uint64_t faults = 0;  // entries that could not be read, and so not offered
};
// Of a file whose offer has the verdict `similar`, as the source holds it now.
struct DigestRecord {
    enum class What : std::uint8_t {
        digest = 0,
        none = 1,     // it could not be read
        patience = 2  // nothing yet; `offer` means nothing
    };
    std::uint32_t offer = 0;
    What what = What::digest;
    Digests digests{};  // of what `digest`; SHA-256 where the terms have it
};
// Whether something stands at the target. Once, first of all that a receiver says.
struct HoldsRecord {
    bool something = false;
};
// Of the offers from `first` on: transfer::Verdict (sync_plan.h).
struct VerdictsRecord {
    std::uint32_t first = 0;
    std::vector<std::uint8_t> codes;
};
// Of one whose verdict said that it is judged later.
struct SettledRecord {
    std::uint32_t offer = 0;
    std::uint8_t verdict = 0;
};
// Deleted, since the source does not have it; or to be deleted, of a dry run.
struct GoneRecord {
    std::string name;
    bool directory = false;
};
// What failed at the receiver of something that was not announced as an entry.
struct MissedRecord {
    std::string name;
    Fault fault = Fault::file;
    std::string message;
    std::string remedy;
    // Of a file that was to stand: its verdict, and how long it is.
    std::uint8_t verdict = 4;
    std::uint64_t size = 0;
};
constexpr std::uint8_t kLastVerdict = 6;
constexpr std::size_t kMostVerdicts = 65535;  // of one record
// The leaf that begins at `offset` does not have the digest that came with it: it must be read and
// sent once more.
struct AgainRecord {
    FileNumber file = 0;
    std::uint64_t offset = 0;
};
// Nothing is left of earlier transfers: no HAVE will come for any file.
struct NothingRecord {};
// What the receiver has of a file from an earlier transfer; whole blocks, and the holes in them.
struct HaveRecord {
    FileNumber file = 0;
    std::vector<Range> offsets;
};
// One LEAF was dealt with.
struct ComparedRecord {};
struct DoneRecord {
    FileNumber file = 0;
    Digest digest{};
};
struct RefuseRecord {
    FileNumber file = 0;
    Fault fault = Fault::file;
    std::string message;
    std::string remedy;
};
struct SetDoneRecord {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t unowned = 0;  // of an archive: done, but for the owner
};

using Record =
    std::variant<FileRecord, VoidRecord, CloseRecord, FailRecord, FinishRecord, DropRecord,
                 LeafRecord, DirectoryRecord, LeaveRecord, LinkRecord, SameRecord, SkipRecord,
                 FrontierRecord, WantRecord, WantEndRecord, AgainRecord, NothingRecord, HaveRecord,
                 ComparedRecord, DoneRecord, RefuseRecord, SetDoneRecord, WalkRecord, SyncRecord,
                 OfferRecord, OfferedRecord, HoldsRecord, DigestRecord, VerdictsRecord,
                 SettledRecord, GoneRecord, MissedRecord, ChangedRecord, StrongRecord>;

void append_record(std::vector<std::byte>& out, const Record& record);

// Takes stream bytes as they come and gives whole records.
class RecordReader {
  public:
    void put(ByteView bytes);
    // The next record; nothing when none is whole; check broken() then.
    std::optional<Record> next();
    // A malformed record came; nothing more will.
    bool broken() const { return broken_; }
    // Bytes that were put and are of no record yet that was given.
    std::size_t waiting() const { return buffer_.size() - consumed_; }

  private:
    std::vector<std::byte> buffer_;
    std::size_t consumed_ = 0;
    bool broken_ = false;
};

// Whether it tells owners and extended attributes.
bool is_archive(const Record& record);

}  // namespace lambda::transfer
