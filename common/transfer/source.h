// The sender's data set: takes what the walker finds, opens files, lays them into the address
// space, reads them in blocks, takes their digests in flight, and keeps each block until all of it
// was acknowledged. Pure but for the ports it drives; engine thread. Bounds: slots of the disk,
// kFoundAhead entries not yet announced, kMostInHand announced and not yet done, with
// kMostExtendedInHand of attributes, the stream's window.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/interval_set.h"
#include "common/ports/disk.h"
#include "common/ports/walker.h"
#include "common/transfer/digest.h"
#include "common/transfer/extent.h"
#include "common/transfer/hole_digests.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/set_stream.h"

namespace lambda::transfer {

struct SendBlock {
    enum class Purpose {
        fresh,
        compare,  // the receiver has it from an earlier transfer: only its digests go
        again,    // one leaf that the receiver asked for; its block is open there, so it needs no
                  // credit
    };
    Purpose purpose = Purpose::fresh;
    std::uint64_t index = 0;  // place / block size
    std::uint32_t slot = 0;
    std::vector<Extent> extents;  // ascending in `at`
    struct Leaf {
        std::uint32_t first = 0, last = 0;  // in the block
        Digest digest{};
    };
    std::vector<Leaf> leaves;        // ascending; the first `leaves_read` with their digests
    std::uint32_t leaves_read = 0;   // all of them; and ...
    std::uint32_t read_in_leaf = 0;  // ... so much of the next one, from its begin on
    LeafDigest digest;               // of that
    std::vector<Extent> early;       // pieces that came before what lies in front of them
    std::uint32_t next_leaf = 0;     // what was never sent begins here ...
    std::uint32_t sent_in_leaf = 0;  // ... so far into it
    std::uint64_t unresolved = 0;    // bytes not acknowledged
    std::uint32_t reads_pending = 0;
    bool offered = false;  // is or was ready
    bool opened = false;   // took credit
    bool dropped = false;  // waits for its last read

    bool all_read() const { return leaves_read == leaves.size(); }
    bool all_sent() const { return next_leaf == leaves.size(); }
    // All of the leaf that is being sent was read.
    bool leaf_read() const { return next_leaf < leaves_read; }
    // Of that leaf, with its digest.
    std::size_t text_left() const {
        const Leaf& leaf = leaves[next_leaf];
        return leaf.last - leaf.first - sent_in_leaf + sizeof(Digest);
    }
    // A packet of `payload` can be cut, or the leaf's last one. Not all_sent().
    bool fills(std::size_t payload) const {
        return leaf_read() || (next_leaf == leaves_read && read_in_leaf >= sent_in_leaf + payload);
    }
};

// What one packet carries.
struct Cut {
    std::uint64_t place = 0;
    ByteView bytes;
    ByteView digest;  // of the leaf that ends here, or empty
};

class Source {
  public:
    static constexpr std::size_t kFoundAhead = 512;
    static constexpr std::size_t kOpensAhead = 128;
    static constexpr std::size_t kMostOpen = 512;  // files that are read in blocks
    // Blocks read or being read that no stripe has begun: few at first, so that they stay in the
    // processor's cache, and twice as many each time that the disk did not keep up with so many.
    static constexpr std::size_t kLeastAhead = 4;
    static constexpr std::size_t kMostAhead = 32;
    // The thread that sends copies what lies in memory, and sends nothing meanwhile: 20 to 50 us.
    static constexpr std::uint32_t kCopiedPieceBytes = 64 * 1024;
    // Blocks that are read only to be compared, at once: what is to be sent comes first.
    static constexpr unsigned kComparesAhead = 8;
    // Leaves that the receiver may have asked for again and that were not read yet.
    static constexpr std::size_t kMostAgain = 4096;
    // How often a file that is written to is gone over, before it fails.
    static constexpr unsigned kMostLooks = 3;

    struct Failure {
        std::string name;
        Error error;
    };
    struct Totals {
        std::uint64_t files_known = 0, files_done = 0, bytes_known = 0, bytes_announced = 0,
                      bytes_acknowledged = 0, verified = 0, leaves_again = 0, leaves_changed = 0,
                      bytes_kept = 0, links_done = 0, directories_done = 0;
    };
    // What became of entries beside their being done.
    struct Listener {
        std::function<void(Failure)> on_failure;
        std::function<void(const SkipRecord&)> on_skip;
    };

    Source(ports::Disk& disk, ports::Walker& walker, StreamSender& stream,
           std::uint32_t block_bytes, Listener listener);

    // Owners and extended attributes are sent too. Before the first turn().
    void set_archive() { archive_ = true; }
    // Files are digested by SHA-256 too. Likewise.
    void set_strong() { strong_ = true; }

    // Issues opens and reads as far as there is room. Every turn.
    void turn();
    // Of all that it took nothing waits or is under way.
    bool idle() const { return ahead_.empty() && in_hand() == 0; }
    // The disk was asked for something that did not end yet.
    bool disk_works() const {
        return !reading_.empty() || !opening_.empty() || !checking_.empty() ||
               !reopening_.empty() || !looking_again_.empty();
    }
    // Holes are being digested: turn() has something to do by itself.
    bool digesting() const { return holes_.working(); }
    void handle(ports::DiskEvent&& event);
    // All that the disk had to tell in this turn was handled: what is still being read was begun in
    // an earlier one, and is late. Not so what is only copied: of that more would not come sooner.
    void handled_all() { disk_lags_ = reading_.size() > copying_; }
    void handle_done(const DoneRecord& record);
    void handle_refuse(const RefuseRecord& record);
    // False: the receiver asks for what it cannot be missing.
    bool handle_again(const AgainRecord& record);
    void handle_nothing();
    // False: it has what the file does not.
    bool handle_have(const HaveRecord& record);
    // False: it compared more than it was told.
    bool handle_compared();

    // The next block that nobody sends yet, where `credit` allows it. It stays the source's, and
    // may still be read.
    SendBlock* take_ready(std::uint64_t credit);
    bool ready_waits() const { return !ready_.empty(); }
    bool can_take(std::uint64_t credit) const;
    // What a sender that has nothing to send waits for.
    enum class Lack {
        credit,    // blocks are read, and may not be opened
        disk,      // reads, opens, or the walker
        memory,    // all slots hold what is on its way
        receiver,  // as many entries are in hand as may be
        nothing,   // all was sent
    };
    Lack lack() const;
    SendBlock* find(std::uint64_t index);
    std::uint64_t block_of(std::uint64_t place) const { return place / block_bytes_; }
    std::uint64_t block_end(std::uint64_t place) const {
        return (block_of(place) + 1) * block_bytes_;
    }

    // What of `block` was never sent, up to `payload` bytes with digest. Nothing where so much was
    // not read yet. It is not all_sent().
    std::optional<Cut> cut_fresh(SendBlock& block, std::size_t payload);
    // What is read next lies in memory, and this thread copies it once somebody asked for more than
    // was read.
    bool can_copy() const;
    // Copies a piece of that, if somebody did. False: nothing.
    bool copy_wanted();
    // What of the range's front fits one packet; nothing where the block is gone.
    std::optional<Cut> cut_again(Range places, std::size_t payload);
    // Acknowledged. Frees the slot of a block with its last byte.
    void resolve(Range places);

    // FINISH was said, and what became of each entry.
    bool settled() const;
    // The receiver has all it needs: what was not acknowledged one by one is so now.
    void resolve_all();

    const Totals& totals() const { return totals_; }
    // From now on, of files that are done.
    void keep_names_done(NamesKept which) { names_kept_ = which; }
    const std::vector<std::string>& names_done() const { return names_done_; }
    const std::string& current_name() const { return current_name_; }

  private:
    struct File {
        std::string path;
        std::string name;
        bool follow = true;
        std::size_t named = std::string::npos;  // of the path
        ports::DiskFile disk_file = 0;
        bool open = false;
        std::uint64_t place = 0;
        std::uint64_t size = 0;
        std::int64_t mtime_ns = 0, ctime_ns = 0;
        bool in_memory = false;     // of a file system of memory
        bool hole = false;          // all of it
        std::size_t ranges = 0;     // of data, as it was announced
        std::size_t extended = 0;   // of attributes, likewise
        unsigned looks = 0;         // how often it was gone over, since it had changed
        bool awaiting = false;      // HAVE or NOTHING: only then it is known what to send
        std::vector<Range> data{};  // what is still to be planned
        IntervalSet told{};         // of what the receiver has, the digests
        IntervalSet changed{};      // of that, what it asked for since the file was gone over
        std::vector<Range> kept{};  // what the receiver has and was not read for comparison yet
        std::uint64_t unread = 0;   // bytes planned or to plan, not read yet
        unsigned reads_pending = 0;
        bool checking = false;
        bool failed = false;
        FileDigest digest{0};
        Digest final_digest{};
        bool closed = false;            // CLOSE was sent
        bool reopening = false;         // for a leaf that must go again
        std::optional<Bytes> reread{};  // a small file, for that
    };
    // A directory or link.
    struct Entry {
        std::string name;
        bool directory = false;
        std::size_t extended = 0;  // of attributes
    };
    // Found and not yet announced.
    struct Ahead {
        enum class Step { found, opening, opened };
        ports::Found found;
        Step step = Step::found;
        ports::DiskEvent opened{};
    };

    void look_ahead();
    void announce();
    std::size_t in_hand() const;
    bool announce(Ahead& ahead);
    bool announce_file(Ahead& ahead);
    bool has_place(std::uint64_t size) const;
    bool room_for(ports::DiskEvent& opened);
    void lay_small(File file, ports::DiskEvent& opened);
    void lay_large(File file, ports::DiskEvent& opened);
    void put_close(FileNumber number, const File& file);
    void put_file_record(FileNumber number, const File& file, ports::DiskEvent& opened);
    void announce_entry(ports::Found& found);
    void tell_failed(const std::string& name, const Error& error);
    void handle_opened(ports::DiskEvent&& event);
    void plan_blocks();
    bool plan_large(FileNumber number, File& file);
    void plan_reads(SendBlock& block, File& file, Extent left);
    void add_extents(SendBlock& block, FileNumber number, File& file, std::vector<Range>& ranges);
    SendBlock* room_to_pack(std::uint64_t bytes);
    void flush_packed();
    SendBlock* new_block(std::uint64_t index);
    void read_again();
    void plan_compares();
    void handle_reopened(const ports::DiskEvent& event);
    static bool is_as_told(const File& file, const ports::DiskEvent& looked);
    void look_again(SendBlock& block);
    void handle_looked_again(const ports::DiskEvent& event);
    void maybe_close(File& file);
    bool told_all_of(FileNumber number, const File& file) const;
    void go_over_changed();
    // Its reads do not wait until they are wanted.
    static bool goes_aside(const SendBlock& block, const File& file);
    bool start_reads();
    void fall_short();
    bool copies_here(const File& file) const;
    void handle_read(const ports::DiskEvent& event);
    void drop_failed_extents(SendBlock& block);
    void add_leaves(SendBlock& block, const Extent& extent);
    void take_piece(SendBlock& block, const Extent& piece);
    void finish_leaf(SendBlock& block);
    void finish_block_read(SendBlock& block);
    void maybe_check(FileNumber number, File& file);
    void handle_checked(const ports::DiskEvent& event);
    void fail_as_changed(FileNumber number, const char* what);
    void fail(FileNumber number, const Error& error);
    void drop_blocks_of_failed();
    void release(SendBlock& block);
    void maybe_forget(FileNumber number);
    void forget(std::map<FileNumber, File>::iterator at);
    void forget(std::unordered_map<FileNumber, Entry>::iterator at);
    ByteView text(const SendBlock& block, std::uint32_t first, std::uint32_t last);

    ports::Disk& disk_;
    ports::Walker& walker_;
    StreamSender& stream_;
    const std::uint32_t block_bytes_;
    const Listener listener_;
    bool archive_ = false;
    bool strong_ = false;

    std::vector<ports::Found> found_;  // of one call
    std::deque<Ahead> ahead_;
    std::uint64_t ahead_first_ = 0;   // how many entries went before the front of it
    std::size_t ahead_unopened_ = 0;  // index of the first whose opening was not looked at
    std::size_t opens_pending_ = 0;   // asked for, and not announced
    bool announce_stuck_ = false;     // for want of room; not of something to announce
    std::unordered_map<ports::DiskTag, std::uint64_t> opening_;  // entries, counted as ahead_first_
    std::uint64_t next_tag_ = 0;
    bool finish_sent_ = false;

    std::map<FileNumber, File> files_;               // laid, and not done
    std::size_t open_files_ = 0;                     // of those, the ones that the disk has open
    std::size_t ranges_ = 0;                         // of all of them
    HoleDigests holes_;                              // of those that live
    std::unordered_map<FileNumber, Entry> entries_;  // announced, not done
    struct Entered {
        FileNumber number = 0;
        std::size_t extended = 0;
    };
    std::vector<Entered> entered_;      // directories that were not left
    std::size_t extended_ = 0;          // of all files and entries
    std::size_t entered_extended_ = 0;  // of the directories that were not left
    FileNumber next_file_ = 0;
    std::deque<FileNumber> to_plan_, to_compare_;
    std::deque<FileNumber> changed_;  // to be gone over
    bool nothing_kept_ = false;       // NOTHING came
    unsigned comparing_ = 0;          // blocks
    std::size_t leaves_told_ = 0;     // and not answered
    std::uint64_t next_place_ = 0;    // where the next file may lie

    std::unordered_map<std::uint64_t, SendBlock> blocks_;  // by index
    std::vector<std::uint32_t> free_slots_;
    std::optional<std::uint64_t> packed_;  // index of the block that small files are being put into
    struct Read {
        std::uint64_t block = 0;
        Extent extent;
    };
    std::deque<Read> reads_;       // to be issued
    std::size_t reads_aside_ = 0;  // of these, what goes aside
    std::unordered_map<ports::DiskTag, Read> reading_;
    std::size_t copying_ = 0;  // of these, from files in memory
    std::unordered_map<ports::DiskTag, FileNumber> checking_, reopening_;
    struct Look {
        std::uint64_t block = 0;
        FileNumber file = 0;
    };
    std::unordered_map<ports::DiskTag, Look> looking_again_;
    std::deque<AgainRecord> again_;    // to be read
    std::deque<std::uint64_t> ready_;  // block indices
    std::uint64_t opened_blocks_ = 0;
    std::size_t blocks_ahead_ = 0;
    std::size_t most_ahead_ = kLeastAhead;
    std::size_t taken_ = 0;  // blocks, since most_ahead_ grew
    bool disk_lags_ = false;
    bool wanted_ = false;  // more than was read, since the last read was begun

    Totals totals_;
    NamesKept names_kept_ = NamesKept::none;
    std::vector<std::string> names_done_;
    std::string current_name_;
};

}  // namespace lambda::transfer
