#include "common/transfer/sink.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/extended_limit.h"

namespace lambda::transfer {
namespace {

static_assert(kLeafBytes % ports::kDiskPieceBytes == 0);
// One keeps a disk busy; a few do where several files wait to be mended.
constexpr std::uint32_t kMostSpareSlots = 4;

}  // namespace

Sink::Sink(ports::Disk& disk, StreamSender& stream, Target target, std::uint32_t block_bytes,
           Listener listener)
    : disk_(disk),
      stream_(stream),
      target_(std::move(target)),
      block_bytes_(block_bytes),
      listener_(std::move(listener)),
      most_pieces_(2 * kMaxInHand + kMaxRanges +
                   std::size_t{disk.slot_count()} * (block_bytes / kLeastPacket)),
      tree_(disk, stream, target_, next_tag_, [this](const std::string& name, const Error& error) {
          listener_.on_failure({name, error});
      }) {
    LAMBDA_ASSERT(block_bytes % kLeafBytes == 0 && disk.slot_count() >= 2);
    for (std::uint32_t slot = disk.slot_count(); slot > 0; --slot) free_slots_.push_back(slot - 1);
    const std::uint32_t spare = std::clamp(disk.slot_count() / 8, 1u, kMostSpareSlots);
    while (spare_slots_.size() < spare && free_slots_.size() > 1) {
        spare_slots_.push_back(free_slots_.front());
        free_slots_.erase(free_slots_.begin());
    }
    // Of few slots none is kept: a block that cannot be sent costs more than a file that was
    // written to.
    spares_ = spare_slots_.size() > 1;
    slots_for_credit_ = free_slots_.size();
    finding_ = next_tag_++;
    disk.find_partials(finding_, target_.path, target_.into_directory);
}

bool Sink::handle(const Record& record) {
    if (const auto* file = std::get_if<FileRecord>(&record)) return handle_file(*file);
    if (const auto* strong = std::get_if<StrongRecord>(&record)) return handle_strong(*strong);
    if (const auto* close = std::get_if<CloseRecord>(&record)) return handle_close(*close);
    if (const auto* drop = std::get_if<DropRecord>(&record)) return handle_drop(*drop);
    if (const auto* leaf = std::get_if<LeafRecord>(&record)) return handle_leaf(*leaf);
    if (const auto* changed = std::get_if<ChangedRecord>(&record)) return handle_changed(*changed);
    if (const auto* gone = std::get_if<VoidRecord>(&record)) {
        const auto at = files_.find(gone->file);
        if (at == files_.end() || at->second.failed) return gone->file < next_file_;
        fail(gone->file,
             Error{.fault = gone->fault,
                   .message = gone->message,
                   .path = at->second.record.name,
                   .side = Side::remote,
                   .remedy = {}},
             false);
        return true;
    }
    if (const auto* failed = std::get_if<FailRecord>(&record)) {
        ++totals_.failed;
        // Of two that hold one name the first stays: what is in hand is that.
        if (!in_hand(failed->name)) tree_.note_failed(failed->name);
        listener_.on_failure({failed->name, Error{.fault = failed->fault,
                                                  .message = failed->message,
                                                  .path = failed->name,
                                                  .side = Side::remote,
                                                  .remedy = failed->remedy}});
        return true;
    }
    if (const auto* finish = std::get_if<FinishRecord>(&record)) {
        if (finish->files != next_file_ || finish_files_ || tree_.inside()) return false;
        finish_files_ = finish->files;
        evaluate_all();
        return true;
    }
    if (const auto* frontier = std::get_if<FrontierRecord>(&record)) {
        if (frontier->place < frontier_ || finish_files_) return false;
        frontier_ = frontier->place;
        evaluate_all();
        return true;
    }
    if (const auto* skipped = std::get_if<SkipRecord>(&record)) {
        listener_.on_skip(*skipped);
        return true;
    }
    // What only receivers send is none of a tree either.
    return handle_tree(record).value_or(false);
}

// Where a file may lie: a small one within a block, others from a block's beginning.
bool Sink::well_placed(const FileRecord& record) const {
    if (record.data.empty()) return true;
    if (record.size > INT64_MAX - record.place) return false;
    const std::uint64_t in_block = record.place % block_bytes_;
    return record.size < ports::kSmallFile ? in_block + record.size <= block_bytes_ : in_block == 0;
}

// Where the next file may lie. A large one has its last block for itself: the disk pads its last
// write to a whole page. One that is all hole has a place and takes none.
std::uint64_t Sink::behind(const FileRecord& record) const {
    if (record.data.empty()) return record.place;
    const std::uint64_t end = record.place + record.size;
    if (record.size < ports::kSmallFile) return end;
    return round_up(end, block_bytes_);
}

bool Sink::handle_file(const FileRecord& record) {
    if (record.place < frontier_ || !well_placed(record) ||
        !announces(record.file, record.archived))
        return false;
    if (ranges_ + record.data.size() > kMaxRanges) return false;
    const std::uint64_t described_before = frontier_ / block_bytes_;
    frontier_ = behind(record);
    File file;
    file.record = record;
    file.digest = FileDigest(record.size, strong_);
    const std::vector<Range> holes = holes_of(record);
    for (const Range& hole : holes) file.digest.add_zeros(hole.first, hole.last);
    for (const Range& range : record.data) file.missing.insert(range);
    file.to_write = file.missing.count();
    if (read_back_ && record.size >= ports::kSmallFile) file.proof = std::make_unique<Proof>();
    if (keeps_journal(record.size)) file.journal = std::make_unique<Journal>(record);
    ++totals_.files_known;
    totals_.bytes_known += file.to_write;
    totals_.bytes_announced += file.to_write;
    current_name_ = record.name;
    ranges_ += record.data.size();
    extended_ += extended_in_hand(record.archived);
    if (!record.data.empty()) by_place_.emplace(record.place, record.file);
    finish_holes(record, holes);
    file.directory = tree_.begin_file();
    if (record.size < ports::kSmallFile) {
        file.step = File::Step::whole;
    } else if (tree_.entering(file.directory)) {
        to_create_.push_back(record.file);
    } else {
        create(file);
    }
    File& begun = files_.emplace(record.file, std::move(file)).first->second;
    holes_.add(record.file, record.size, begun.to_write, begun.digest);
    if (frontier_ / block_bytes_ != described_before) evaluate_all();
    return true;
}

void Sink::create(const File& file) {
    const FileRecord& record = file.record;
    ports::Disk::Keep keep;
    if (file.journal && !nothing_kept_) {
        keep = [identity = identity_of(record)](ByteView journal) {
            return Journal::fits(journal, identity);
        };
    }
    const ports::DiskTag tag = next_tag_++;
    creating_.emplace(tag, record.file);
    disk_.create_target(tag, target_.of(record.name), record.size, holes_of(record),
                        std::move(keep));
}

// Those whose directory is entered by now. Directories are, in the order of their announcement.
void Sink::create_entered() {
    for (; !to_create_.empty(); to_create_.pop_front()) {
        const auto at = files_.find(to_create_.front());
        if (at == files_.end()) continue;
        if (tree_.entering(at->second.directory)) return;
        create(at->second);
    }
}

void Sink::turn(Time now, const Beside& beside) {
    if (const auto stepped = holes_.turn()) maybe_commit(*stepped);
    // They are few, since each needs a spare slot; behind the writes they would wait for the last.
    issue_compares();
    issue_writes();
    sync_files(now);
    flush_files(now);
    if (all_done() && beside.over && !finished_ && stream_.has_room()) {
        const Totals all = totals();
        stream_.put(SetDoneRecord{all.files_done, all.failed + beside.failed,
                                  all.unowned + beside.unowned});
        finished_ = true;
    }
}

void Sink::issue_writes() {
    while (!to_write_.empty() && leaves_unproved_ <= kMostUnproved) {
        const Write write = to_write_.front();
        const auto at = files_.find(write.extent.file);
        LAMBDA_ASSERT(at != files_.end());
        File& file = at->second;
        if (file.failed) {
            to_write_.pop_front();
            --file.writes_in_flight;
            write_ended(write.block);
            forget_failed(write.extent.file);
            continue;
        }
        const ports::DiskTag tag = next_tag_;
        if (!disk_.write(tag, file.disk_file, write.extent.offset, blocks_.at(write.block).slot,
                         write.extent.at, write.extent.bytes)) {
            return;
        }
        ++next_tag_;
        writing_.emplace(tag, write);
        to_write_.pop_front();
    }
}

void Sink::handle(const ports::DiskEvent& event) {
    if (event.returned) return handle_returned(event);
    ++tags_ended_;
    if (writing_.contains(event.tag)) return handle_written(event);
    if (creating_.contains(event.tag)) return handle_created(event);
    if (committing_.contains(event.tag)) return handle_committed(event);
    if (compare_reads_.contains(event.tag)) return handle_compared(event);
    if (syncing_.contains(event.tag)) return handle_synced(event);
    if (flushing_.contains(event.tag)) return handle_flushed(event);
    if (event.tag == finding_) return handle_found(event);
    tree_.handle(event);
    create_entered();
}

void Sink::handle_created(const ports::DiskEvent& event) {
    const FileNumber number = creating_.extract(event.tag).mapped();
    File& file = files_.at(number);
    file.step = File::Step::open;
    auto waiting = waiting_.extract(number);
    if (event.error) {
        if (!waiting.empty()) {
            for (const Write& write : waiting.mapped()) {
                --file.writes_in_flight;
                write_ended(write.block);
            }
        }
        // Nothing was made, so there is nothing to close.
        file.step = File::Step::creating;
        if (file.failed) return forget_failed(number);
        fail(number, *event.error, true);
        return;
    }
    file.disk_file = event.file;
    // What came unasked counts as new: then nothing is taken over.
    if (file.journal && !nothing_kept_ && !file.failed)
        adopt(number, file, waiting.empty() ? ByteView(event.journal) : ByteView{});
    if (!waiting.empty()) {
        for (const Write& write : waiting.mapped()) to_write_.push_back(write);
    }
    if (file.failed) return forget_failed(number);
    maybe_commit(number);
}

void Sink::handle_written(const ports::DiskEvent& event) {
    const Write write = writing_.extract(event.tag).mapped();
    File& file = files_.at(write.extent.file);
    --file.writes_in_flight;
    if (event.error) {
        if (!file.failed) fail(write.extent.file, *event.error, true);
    } else {
        file.to_write -= write.extent.bytes;
        const Range offsets{write.extent.offset, write.extent.offset + write.extent.bytes};
        if (file.proof) note_written(write.extent.file, file, offsets);
        if (file.journal) {
            file.journal->add_written(offsets);
            unsynced_.insert(write.extent.file);
            unsynced_bytes_ += write.extent.bytes;
        }
    }
    write_ended(write.block);
    if (files_.contains(write.extent.file)) {
        maybe_commit(write.extent.file);
        forget_failed(write.extent.file);
    }
}

void Sink::fail(FileNumber number, const Error& error, bool tell_sender) {
    File& file = files_.at(number);
    if (file.failed) return;
    file.failed = true;
    holes_.forget(number);
    ++totals_.failed;
    tree_.note_failed(file.record.name);
    drop_attributes(file);
    if (file.step == File::Step::whole) give_up_content(file);
    if (tell_sender) stream_.put(RefuseRecord{number, error.fault, error.message, error.remedy});
    listener_.on_failure({file.record.name, error});
    if (!file.record.data.empty()) by_place_.erase(file.record.place);
    // Blocks that waited for this file may be complete without it.
    for (auto& [index, block] : blocks_) {
        if (!block.writing) block.expected.reset();
    }
    std::vector<std::uint64_t> open;
    for (const auto& [index, block] : blocks_) open.push_back(index);
    for (const std::uint64_t index : open) evaluate(index);
    forget_failed(number);
}

// Whether something of the file is on its way to the disk or back.
bool Sink::disk_has(FileNumber number, const File& file) const {
    const auto is_it = [&](const auto& entry) { return entry.second == number; };
    const bool flushing = file.proof && file.proof->flushing;
    return file.writes_in_flight > 0 || file.syncing || flushing || file.compares_in_hand > 0 ||
           std::any_of(creating_.begin(), creating_.end(), is_it) ||
           std::any_of(committing_.begin(), committing_.end(), is_it);
}

// A failed file goes once nothing of it is on its way to the disk.
void Sink::forget_failed(FileNumber number) {
    const auto at = files_.find(number);
    if (at == files_.end() || !at->second.failed || disk_has(number, at->second)) return;
    unsynced_.erase(number);
    if (at->second.step == File::Step::open) disk_.close(at->second.disk_file);
    end(at);
}

}  // namespace lambda::transfer
