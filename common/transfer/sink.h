// The receiver's data set: takes packets into blocks, checks leaves, writes, and commits files
// whose digests agree; small ones are made whole. Pure but for the disk port it drives; engine
// thread. Bounds: slots of the disk, kMaxInHand entries in hand, with twice kMostExtendedInHand of
// attributes, the stream's window.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/interval_set.h"
#include "common/base/time.h"
#include "common/ports/disk.h"
#include "common/transfer/digest.h"
#include "common/transfer/extent.h"
#include "common/transfer/hole_digests.h"
#include "common/transfer/journal.h"
#include "common/transfer/names.h"
#include "common/transfer/record.h"
#include "common/transfer/set_stream.h"
#include "common/transfer/tree_sink.h"

namespace lambda::transfer {

class Sink {
  public:
    // More than a sender keeps: what it announced, and the directories it is in.
    static constexpr std::size_t kMaxInHand = kMostInHand + 2 * kMaxNameBytes;
    // Of finished blocks, which are as many as there are gaps between them: what an honest sender
    // leaves out are holes, which count as finished, and what failed.
    static constexpr std::size_t kMaxFinishedRanges = std::size_t{1} << 20;
    // More than a sender keeps: a file that it gave up may still be at the disk here. A range costs
    // up to 150 bytes.
    static constexpr std::size_t kMaxRanges = 4 * kMostRanges;
    // Of a file's bytes, in an honest sender's packet that ends no leaf and no range of data.
    static constexpr std::uint32_t kLeastPacket = 256;
    // How often a leaf with a wrong digest is asked for again before its file fails.
    static constexpr unsigned kMostAgain = 3;

    struct Failure {
        std::string name;
        Error error;
    };
    struct Totals {
        std::uint64_t files_known = 0, files_done = 0, bytes_known = 0, bytes_received = 0,
                      bytes_complete = 0, bytes_announced = 0, verified = 0, failed = 0,
                      leaves_again = 0, leaves_changed = 0, bytes_kept = 0, links_done = 0,
                      directories_done = 0, unowned = 0;
    };
    struct Listener {
        std::function<void(Failure)> on_failure;
        std::function<void(const SkipRecord&)> on_skip;
    };

    // Data is journalled when so much of it was written, or so long ago.
    static constexpr std::uint64_t kSyncBytes = 64u << 20;
    static constexpr Duration kSyncEvery = std::chrono::milliseconds(250);
    static constexpr std::size_t kMostSyncs = 16;  // at once
    // Leaves that were received and not read back: beyond it nothing is written before some are.
    static constexpr std::size_t kMostUnproved = 65536;

    Sink(ports::Disk& disk, StreamSender& stream, Target target, std::uint32_t block_bytes,
         Listener listener);
    // Whatever was written is read from the disk again and compared, leaf by leaf, before a file
    // gets its name; what differs comes again. Before the first turn().
    void set_read_back() { read_back_ = true; }
    // Files are digested by SHA-256 too, and must agree in that. Before the first turn().
    void set_strong() { strong_ = true; }

    // False: the peer speaks nonsense; nothing more should be taken from it.
    bool handle(const Record& record);
    void handle(const ports::DiskEvent& event);
    // What is done beside the entries, and counts at the end.
    struct Beside {
        bool over = true;
        std::uint64_t failed = 0, unowned = 0;
    };
    // Issues what the disk takes, and ends the set. Every turn.
    void turn(Time now, const Beside& beside);
    // The sender announces nothing more, and all of it is done.
    bool all_done() const {
        return finish_files_ && files_.empty() && tree_.in_hand() == 0 && blocks_.empty();
    }
    // An entry was announced.
    bool begun() const { return next_file_ > 0; }
    // A directory takes the place of what is none.
    void set_replaces() { tree_.set_replaces(); }
    // When turn() has something to do by itself.
    Time next_time() const { return digesting() ? Time{} : std::min(sync_at_, flush_at_); }

    // Where a packet's file bytes may be opened to, before its tag is known to hold.
    struct Landing {
        enum class Where {
            direct,   // straight to `at`: all of the range is missing
            scratch,  // elsewhere; accept() copies what is new
            refuse,   // no business here
        };
        Where where = Where::refuse;
        std::byte* at = nullptr;
    };
    // `bare`: its tag does not cover them.
    Landing landing(std::uint64_t place, std::size_t bytes, bool leaf_end, bool bare) const;
    // Where what is missing of one leaf from `place` on in one piece belongs, in a block that is
    // open; or nothing.
    ByteSpan room(std::uint64_t place) const;
    // The packet opened. `bytes` lies where landing() said. `digest`: of the leaf that ends here.
    void accept(std::uint64_t place, ByteView bytes, const Digest* digest);

    // How many blocks the sender may have opened.
    std::uint64_t credit() const { return freed_blocks_ + slots_for_credit_; }
    // SET_DONE was put into the stream.
    bool finished() const { return finished_; }
    // Whether most of the slots wait for the disk, or nothing else is left to do.
    bool disk_holds() const {
        return 2 * blocks_writing_ >= slots_for_credit_ ||
               (finish_files_ && disk_works() && totals_.bytes_complete >= totals_.bytes_known);
    }
    // What is left to do here, whatever the sender does: it may take long, and tell nothing. The
    // disk was asked for something that did not end yet; holes are being digested.
    bool disk_works() const { return next_tag_ != tags_ended_; }
    bool digesting() const { return holes_.working(); }
    // The finished blocks are in more pieces than kMaxFinishedRanges, or the open ones in more than
    // what is in hand and packets of kLeastPacket make: nothing more should be taken.
    bool scattered() const {
        return finished_blocks_.ranges().size() > kMaxFinishedRanges || pieces_ > most_pieces_;
    }
    Totals totals() const;
    // Of blocks that are not complete: what came of them, some of which may have to come again.
    std::uint64_t bytes_in_hand() const;
    // From now on, of files that are done.
    void keep_names_done(NamesKept which) { names_kept_ = which; }
    const std::vector<std::string>& names_done() const { return names_done_; }
    const std::string& current_name() const { return current_name_; }

  private:
    struct Write {
        std::uint64_t block = 0;
        Extent extent;
    };
    // Leaves between their coming and their being flushed, to be read back.
    struct Proof {
        std::map<std::uint64_t, Digest> leaves;       // by file offset
        IntervalSet written;                          // of them
        std::map<std::uint64_t, unsigned> different;  // how often, by file offset
        bool flushing = false;
    };
    struct File {
        FileRecord record;
        // A small one is `whole` until its content and CLOSE are here, then committing.
        enum class Step { creating, open, whole, committing } step = Step::creating;
        ports::DiskFile disk_file = 0;
        IntervalSet missing;         // what is to come, in file offsets
        std::uint64_t to_write = 0;  // bytes of data not on disk yet
        unsigned writes_in_flight = 0;
        std::unique_ptr<Journal> journal;  // of a file that keeps one
        bool syncing = false;
        IntervalSet kept;  // from an earlier transfer, and its digest at the source not known yet
        std::uint64_t to_compare = 0;  // bytes of what was kept, or is to be read back
        bool changed = false;          // at the source: what came of it is compared
        unsigned compares_in_hand = 0;
        std::unique_ptr<Proof> proof;  // of a file that is read back
        std::optional<Sha256> strong;  // the sender's
        std::optional<CloseRecord> close;
        FileDigest digest{0};
        bool failed = false;                    // waits for the disk to let go of it
        std::optional<FileNumber> directory{};  // that it lies in
        std::optional<Write> content{};         // whole: where it waits
    };
    struct Block {
        std::uint32_t slot = 0;
        IntervalSet received;                         // in the block
        std::map<std::uint32_t, Digest> digests;      // by where the leaf ends in the block
        LeafDigest digest;                            // of the leaf that is coming
        std::map<std::uint32_t, unsigned> asked;      // again, likewise
        std::optional<std::vector<Extent>> expected;  // once described; of files that live
        std::uint64_t expected_bytes = 0;
        bool writing = false;
        unsigned writes_left = 0;
        std::optional<FileNumber> last{};  // of small files: once it is made, all of them are
        bool spare = false;                // in a spare slot, and no credit was taken for it
        std::size_t pieces = 0;            // of pieces_
    };

    bool well_placed(const FileRecord& record) const;
    std::uint64_t behind(const FileRecord& record) const;
    bool handle_file(const FileRecord& record);
    void create(const File& file);
    void create_entered();
    bool handle_strong(const StrongRecord& record);
    bool handle_close(const CloseRecord& record);
    bool digests_agree(const File& file) const;
    bool handle_drop(const DropRecord& record);
    std::optional<bool> handle_tree(const Record& record);
    bool announces(FileNumber number, const std::optional<ports::Archived>& archived);
    void drop_attributes(File& file);
    std::optional<FileNumber> in_hand(const std::string& name) const;
    void end(std::map<FileNumber, File>::iterator at);
    void handle_created(const ports::DiskEvent& event);
    void handle_written(const ports::DiskEvent& event);
    void handle_committed(const ports::DiskEvent& event);
    void handle_returned(const ports::DiskEvent& event);
    bool described(std::uint64_t index) const;
    void describe(std::uint64_t index, Block& block);
    void evaluate(std::uint64_t index);
    void evaluate_all();
    void complete(std::uint64_t index, Block& block);
    static bool is_one_file(const Block& block);
    void digest_ahead(Block& block, std::uint32_t last);
    bool leaves_agree(Block& block);
    void issue_writes();
    void finish_block(std::uint64_t index);
    void count_pieces(Block& block, std::size_t pieces);
    void write_ended(std::uint64_t index);
    void maybe_commit(FileNumber number);
    void queue(FileNumber number, File& file, const Write& write);
    void give_up_content(File& file);
    void fail(FileNumber number, const Error& error, bool tell_sender);
    void forget_failed(FileNumber number);
    bool disk_has(FileNumber number, const File& file) const;

    // A leaf that is read from this disk, to be compared.
    struct Compare {
        LeafRecord leaf;
        bool proves = false;  // that it was written well; else the sender told it of a kept one
        std::uint32_t bytes = 0, issued = 0;
        unsigned reads_in_flight = 0;
        bool bad = false;
    };

    // sink_holes.cpp
    // What of a file is not sent.
    static std::vector<Range> holes_of(const FileRecord& record);
    void finish_holes(const FileRecord& record, const std::vector<Range>& holes);
    void finish_blocks_of(const FileRecord& record, Range offsets);

    // sink_kept.cpp: what an earlier transfer left
    void handle_found(const ports::DiskEvent& event);
    void adopt(FileNumber number, File& file, ByteView journal);
    bool handle_leaf(const LeafRecord& record);
    bool comparable(const File& file) const;
    void issue_compares();
    bool start_compare(const LeafRecord& leaf, bool proves);
    void handle_compared(const ports::DiskEvent& event);
    void judge(std::uint32_t slot);
    void mend(std::uint32_t slot, const Compare& compare, File& file);

    // sink_changed.cpp: the source was written to while it came
    bool handle_changed(const ChangedRecord& record);

    // sink_proof.cpp: what was written is read back
    void await_proof(File& file, std::uint64_t offset, const Digest& digest);
    void note_written(FileNumber number, File& file, Range offsets);
    void flush_files(Time now);
    void handle_flushed(const ports::DiskEvent& event);
    bool hopeless(File& file, std::uint64_t offset);
    void fail_over_disk(FileNumber number, const File& file);

    // sink_journal.cpp
    void sync_files(Time now);
    void handle_synced(const ports::DiskEvent& event);

    ports::Disk& disk_;
    StreamSender& stream_;
    const Target target_;
    const std::uint32_t block_bytes_;
    const Listener listener_;

    std::map<FileNumber, File> files_;              // in hand
    std::map<std::uint64_t, FileNumber> by_place_;  // of files in hand that have data
    std::size_t ranges_ = 0;                        // of data, of all files in hand
    std::size_t extended_ = 0;                      // of attributes, likewise
    HoleDigests holes_;                             // of those that live
    FileNumber next_file_ = 0;
    std::uint64_t frontier_ = 0;  // no later file begins below
    std::optional<std::uint64_t> finish_files_;

    std::unordered_map<std::uint64_t, Block> blocks_;  // open, by index
    std::size_t pieces_ = 0;                           // of them: ranges received, and digests
    const std::size_t most_pieces_;
    IntervalSet finished_blocks_;
    std::vector<std::uint32_t> free_slots_;
    std::uint64_t freed_blocks_ = 0;
    std::uint64_t slots_for_credit_ = 0;
    // For leaves while they are compared and mended: of an earlier transfer (all but one are given
    // back where there are none), and of a source that changed.
    std::vector<std::uint32_t> spare_slots_;
    bool spares_ = false;  // one at least is never given back

    std::deque<Write> to_write_;
    std::unordered_map<FileNumber, std::vector<Write>> waiting_;  // for the target to be made
    std::unordered_map<ports::DiskTag, Write> writing_;
    std::unordered_map<ports::DiskTag, FileNumber> creating_, committing_;
    // Their directories are being entered: made by whom they would lie in, those would be open to
    // others for as long as the transfer takes; one that stands there may be closed to us.
    std::deque<FileNumber> to_create_;
    ports::DiskTag next_tag_ = 0, tags_ended_ = 0;
    std::uint64_t blocks_writing_ = 0;

    bool nothing_kept_ = false;  // NOTHING was said
    ports::DiskTag finding_ = 0;
    std::deque<LeafRecord> to_compare_, to_prove_;
    std::map<std::uint32_t, Compare> comparing_;  // by slot
    struct CompareRead {
        std::uint32_t slot = 0, bytes = 0;
    };
    std::unordered_map<ports::DiskTag, CompareRead> compare_reads_;

    std::set<FileNumber> unsynced_;
    std::uint64_t unsynced_bytes_ = 0;
    Time sync_at_ = kNever;
    std::unordered_map<ports::DiskTag, FileNumber> syncing_;

    bool strong_ = false;
    bool read_back_ = false;
    std::set<FileNumber> unproved_;  // with leaves that were written and not flushed
    std::size_t leaves_unproved_ = 0;
    std::uint64_t unproved_bytes_ = 0;
    Time flush_at_ = kNever;
    struct Flush {
        FileNumber file = 0;
        std::vector<LeafRecord> leaves;
    };
    std::unordered_map<ports::DiskTag, Flush> flushing_;

    bool finished_ = false;
    Totals totals_;
    NamesKept names_kept_ = NamesKept::none;
    std::vector<std::string> names_done_;
    std::string current_name_;
    TreeSink tree_;
};

}  // namespace lambda::transfer
