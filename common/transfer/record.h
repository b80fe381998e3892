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
                 ComparedRecord, DoneRecord, RefuseRecord, SetDoneRecord, WalkRecord>;

void append_record(std::vector<std::byte>& out, const Record& record);

// Takes stream bytes as they come and gives whole records.
class RecordReader {
  public:
    void put(ByteView bytes);
    // The next record; nothing when none is whole; check broken() then.
    std::optional<Record> next();
    // A malformed record came; nothing more will.
    bool broken() const { return broken_; }

  private:
    std::vector<std::byte> buffer_;
    std::size_t consumed_ = 0;
    bool broken_ = false;
};

// Whether a name may come from the peer: relative, no empty, "." or ".." component, no NUL,
// bounded.
bool acceptable_name(std::string_view name);

}  // namespace lambda::transfer
