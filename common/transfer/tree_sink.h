// The receiver's directories and links: what is made at once, what waits for what lies in it, and
// what waits for another name of its own. Pure but for the disk port it drives; engine thread.
// Bounds: the entries in hand are the Sink's to count; NameHashes::kMost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/ports/disk.h"
#include "common/transfer/name_hashes.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/set_stream.h"

namespace lambda::transfer {

class TreeSink {
  public:
    struct Totals {
        std::uint64_t links_done = 0, directories_done = 0, failed = 0, unowned = 0;
    };
    using OnFailure = std::function<void(const std::string& name, const Error& error)>;

    // `next_tag`: of the one who shares the disk.
    TreeSink(ports::Disk& disk, StreamSender& stream, const Target& target,
             ports::DiskTag& next_tag, OnFailure on_failure);

    void enter(const DirectoryRecord& record);
    // False: it is not the innermost.
    bool leave(const LeaveRecord& record);
    void link(const LinkRecord& record);
    // `first_in_hand`: the file or link of the first name, where it is not durable yet.
    void same(const SameRecord& record, std::optional<FileNumber> first_in_hand);
    // The link of that name that is not durable yet.
    std::optional<FileNumber> link_in_hand(const std::string& name) const;

    // A file begins in the innermost directory: what to tell file_ended().
    std::optional<FileNumber> begin_file();
    // A directory is entered, and not left.
    bool inside() const { return !entered_.empty(); }
    // What begin_file() told is a directory that is not made, or made writable, yet.
    bool entering(const std::optional<FileNumber>& directory) const;
    void set_replaces() { replaces_ = true; }
    // After note_failed(), where it failed.
    void file_ended(FileNumber number, std::optional<FileNumber> parent);
    // A name that will not be there as the sender has it: no other name may be made of it.
    void note_failed(const std::string& name);

    bool handle(const ports::DiskEvent& event);  // false: it is not ours
    std::size_t in_hand() const { return entries_.size(); }
    // Of attributes of those, as extended_in_hand() counts them.
    std::size_t extended() const { return extended_; }
    const Totals& totals() const { return totals_; }

  private:
    enum class Kind { directory, link, same };
    struct Entry {
        Kind kind = Kind::directory;
        std::string name;
        ports::FileMetadata metadata{};
        std::string text{};  // what a link shows; the first name
        std::optional<FileNumber> parent{};
        // Directories.
        std::uint64_t inside = 0;  // entries in it that are not done
        bool making = true;
        bool left = false;
        bool failed = false;
    };

    Entry& begin(FileNumber number, Kind kind, const std::string& name,
                 const ports::FileMetadata& metadata);
    void drop_attributes(Entry& entry);
    void make(FileNumber number, ports::Making::Kind kind);
    void make_same(FileNumber number);
    void made(FileNumber number, const ports::DiskEvent& event);
    void maybe_settle(std::optional<FileNumber> directory);
    void fail(FileNumber number, const Error& error);
    void done(FileNumber number);
    void end(FileNumber number);
    void take_off(FileNumber number);

    ports::Disk& disk_;
    StreamSender& stream_;
    const Target& target_;
    ports::DiskTag& next_tag_;
    const OnFailure on_failure_;

    std::unordered_map<FileNumber, Entry> entries_;
    std::size_t extended_ = 0;
    std::vector<FileNumber> entered_;
    std::unordered_map<ports::DiskTag, FileNumber> making_;
    std::multimap<FileNumber, FileNumber> waiting_;  // first, and the other names of it
    NameHashes failed_names_;
    bool replaces_ = false;
    Totals totals_;
};

}  // namespace lambda::transfer
