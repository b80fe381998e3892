#include "common/transfer/source.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::transfer {

Source::Source(ports::Disk& disk, ports::Walker& walker, StreamSender& stream,
               std::uint32_t block_bytes, Listener listener)
    : disk_(disk),
      walker_(walker),
      stream_(stream),
      block_bytes_(block_bytes),
      listener_(std::move(listener)) {
    LAMBDA_ASSERT(block_bytes % kLeafBytes == 0 && disk.slot_count() >= 2);
    // The lowest slot is taken first, and the one freed last again: what was touched stays warm.
    for (std::uint32_t slot = disk.slot_count(); slot > 0; --slot) free_slots_.push_back(slot - 1);
}

void Source::turn() {
    look_ahead();
    announce();
    read_again();
    go_over_changed();
    plan_blocks();
    plan_compares();
    if (const auto stepped = holes_.turn()) maybe_check(*stepped, files_.at(*stepped));
    while (!reads_.empty() && start_reads()) {
    }
    const bool all_laid = ahead_.empty() && walker_.ended();
    if (all_laid && to_plan_.empty() && !finish_sent_ && stream_.has_room()) {
        if (packed_) flush_packed();
        stream_.put(FinishRecord{next_file_});
        finish_sent_ = true;
    }
}

void Source::handle(ports::DiskEvent&& event) {
    if (opening_.contains(event.tag)) return handle_opened(std::move(event));
    if (reading_.contains(event.tag)) return handle_read(event);
    if (checking_.contains(event.tag)) return handle_checked(event);
    if (reopening_.contains(event.tag)) return handle_reopened(event);
    if (looking_again_.contains(event.tag)) return handle_looked_again(event);
}

void Source::plan_blocks() {
    // Nothing more to pack, and nothing else to send: what is packed goes. The receiver may need it
    // before there is room to announce more.
    if (packed_ && ready_.empty() && (ahead_.empty() || announce_stuck_)) flush_packed();
    for (auto next = to_plan_.begin(); next != to_plan_.end();) {
        const auto at = files_.find(*next);
        if (at != files_.end() && !at->second.failed) {
            if (at->second.awaiting) {
                ++next;
                continue;
            }
            if (!plan_large(*next, at->second)) return;
        }
        next = to_plan_.erase(next);
    }
}

SendBlock* Source::new_block(std::uint64_t index) {
    // The last slot is for what must go again: else all could wait for credit that it alone frees.
    if (free_slots_.size() <= 1 || blocks_ahead_ >= most_ahead_) return nullptr;
    // A leaf of a hole in it was asked for.
    if (blocks_.contains(index)) return nullptr;
    ++blocks_ahead_;
    SendBlock& block = blocks_[index];
    block.index = index;
    block.slot = free_slots_.back();
    free_slots_.pop_back();
    return &block;
}

// One block for each turn of the loop that has data in it. True: the whole file is planned.
bool Source::plan_large(FileNumber number, File& file) {
    while (!file.data.empty()) {
        const std::uint64_t first = file.data.front().first;
        const std::uint64_t index = (file.place + first) / block_bytes_;
        SendBlock* block = new_block(index);
        if (block == nullptr) return false;
        add_extents(*block, number, file, file.data);
    }
    return true;
}

// Moves what of `ranges` lies in a block of a large file into that block.
void Source::add_extents(SendBlock& block, FileNumber number, File& file,
                         std::vector<Range>& ranges) {
    const std::uint64_t block_first = block.index * block_bytes_ - file.place;  // in the file
    const std::uint64_t block_last = block_first + block_bytes_;
    while (!ranges.empty() && ranges.front().first < block_last) {
        Range& range = ranges.front();
        const std::uint64_t last = std::min(range.last, block_last);
        block.extents.push_back({number, range.first,
                                 static_cast<std::uint32_t>(range.first - block_first),
                                 static_cast<std::uint32_t>(last - range.first)});
        block.unresolved += last - range.first;
        range.first = last;
        if (range.empty()) ranges.erase(ranges.begin());
    }
    for (const Extent& extent : block.extents) plan_reads(block, file, extent);
}

void Source::plan_reads(SendBlock& block, File& file, Extent left) {
    add_leaves(block, left);
    const std::uint32_t most = file.in_memory ? kCopiedPieceBytes : ports::kDiskPieceBytes;
    while (left.bytes > 0) {
        Extent piece = left;
        piece.bytes = std::min(left.bytes, most);
        reads_.push_back({block.index, piece});
        if (goes_aside(block, file)) ++reads_aside_;
        ++block.reads_pending;
        ++file.reads_pending;
        left.offset += piece.bytes;
        left.at += piece.bytes;
        left.bytes -= piece.bytes;
    }
}

void Source::add_leaves(SendBlock& block, const Extent& extent) {
    const std::uint32_t last = extent.at + extent.bytes;
    for (std::uint32_t first = extent.at; first < last;) {
        const auto bytes =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(kLeafBytes, last - first));
        block.leaves.push_back({first, first + bytes});
        first += bytes;
    }
}

// The block that takes the next small file, with room for it from next_place_ on. Nothing where no
// slot is free.
SendBlock* Source::room_to_pack(std::uint64_t bytes) {
    if (packed_ && next_place_ + bytes > (*packed_ + 1) * block_bytes_) flush_packed();
    if (packed_) return &blocks_.at(*packed_);
    const std::uint64_t index = round_up(next_place_, block_bytes_) / block_bytes_;
    SendBlock* block = new_block(index);
    if (block == nullptr) return nullptr;
    next_place_ = index * block_bytes_;
    packed_ = index;
    return block;
}

// No more files go into the packed block: it may be sent.
void Source::flush_packed() {
    SendBlock& block = blocks_.at(*packed_);
    packed_.reset();
    // The next small file must not join a block that is on its way.
    next_place_ = std::max(next_place_, (block.index + 1) * block_bytes_);
    // Else the receiver would not know that it has all of the block before the next file is
    // announced, and there may be no room for that one before these are done.
    stream_.put(FrontierRecord{next_place_});
    // A small file is one extent and one leaf.
    LAMBDA_ASSERT(block.leaves.size() == block.extents.size());
    auto laid = block.extents.begin();
    std::erase_if(block.leaves, [&](const SendBlock::Leaf&) {
        const auto file = files_.find((laid++)->file);
        return file == files_.end() || file->second.failed;
    });
    block.leaves_read = static_cast<std::uint32_t>(block.leaves.size());
    std::vector<FileNumber> files;
    for (const Extent& extent : block.extents) files.push_back(extent.file);
    drop_failed_extents(block);
    if (block.extents.empty()) {
        release(block);
    } else {
        ready_.push_back(block.index);
    }
    for (const FileNumber number : files) maybe_forget(number);
}

bool Source::goes_aside(const SendBlock& block, const File& file) {
    return block.purpose != SendBlock::Purpose::fresh || !file.in_memory;
}

bool Source::start_reads() {
    auto next = reads_.begin();
    // What this thread copies itself it copies when that is wanted: what waits leaves the
    // processor's cache. All else waits for nobody.
    if (!wanted_ && can_copy()) {
        if (reads_aside_ == 0) return false;
        next = std::find_if(reads_.begin(), reads_.end(), [this](const Read& each) {
            return goes_aside(blocks_.at(each.block), files_.at(each.extent.file));
        });
    }
    const Read read = *next;
    SendBlock& block = blocks_.at(read.block);
    File& file = files_.at(read.extent.file);
    if (!file.failed) {
        const ports::DiskTag tag = next_tag_;
        if (!disk_.read(tag, file.disk_file, read.extent.offset, block.slot, read.extent.at,
                        read.extent.bytes)) {
            return false;
        }
        ++next_tag_;
        reading_.emplace(tag, read);
        if (file.in_memory) ++copying_;
        if (block.purpose == SendBlock::Purpose::fresh) wanted_ = false;
    }
    if (goes_aside(block, file)) --reads_aside_;
    reads_.erase(next);
    if (!file.failed) return true;
    --file.reads_pending;
    --block.reads_pending;
    if (block.reads_pending == 0) finish_block_read(block);
    maybe_forget(read.extent.file);
    return true;
}

void Source::handle_read(const ports::DiskEvent& event) {
    const Read read = reading_.extract(event.tag).mapped();
    SendBlock& block = blocks_.at(read.block);
    File& file = files_.at(read.extent.file);
    --block.reads_pending;
    --file.reads_pending;
    if (file.in_memory) --copying_;
    if (!file.failed) {
        if (event.error) {
            fail(read.extent.file, *event.error);
        } else if (event.bytes < read.extent.bytes) {
            fail_as_changed(read.extent.file, "the file became shorter while it was sent");
        } else {
            if (block.purpose != SendBlock::Purpose::again) file.unread -= read.extent.bytes;
            take_piece(block, read.extent);
        }
    }
    // The failure of its last file may have taken the block away.
    const auto left = blocks_.find(read.block);
    if (left != blocks_.end() && left->second.reads_pending == 0) finish_block_read(left->second);
    maybe_forget(read.extent.file);
}

// What was read just now lies in the processor's cache: it is digested at once, and sent, too,
// where this thread read it. Where several are read at once, a piece may be there before the one in
// front of it.
void Source::take_piece(SendBlock& block, const Extent& piece) {
    block.early.push_back(piece);
    while (!block.all_read()) {
        const SendBlock::Leaf& leaf = block.leaves[block.leaves_read];
        const auto next = std::find_if(
            block.early.begin(), block.early.end(),
            [&](const Extent& each) { return each.at == leaf.first + block.read_in_leaf; });
        if (next == block.early.end()) return;
        block.read_in_leaf += next->bytes;
        block.early.erase(next);
        const std::uint32_t reached = leaf.first + block.read_in_leaf;
        if (reached < leaf.last) {
            block.digest.extend(disk_.slot(block.slot), leaf.first, reached);
        } else {
            finish_leaf(block);
        }
        if (block.purpose == SendBlock::Purpose::fresh && !block.offered &&
            (block.all_read() || copies_here(files_.at(piece.file)))) {
            block.offered = true;
            ready_.push_back(block.index);
        }
    }
}

void Source::finish_leaf(SendBlock& block) {
    SendBlock::Leaf& leaf = block.leaves[block.leaves_read++];
    block.read_in_leaf = 0;
    const ByteSpan slot = disk_.slot(block.slot);
    leaf.digest = block.digest.finish(slot, leaf.first, leaf.last);
    if (block.purpose == SendBlock::Purpose::again) return;
    const Extent& extent =
        *std::find_if(block.extents.begin(), block.extents.end(),
                      [&](const Extent& each) { return leaf.first < each.at + each.bytes; });
    const std::uint64_t offset = extent.offset + (leaf.first - extent.at);
    const std::uint32_t bytes = leaf.last - leaf.first;
    File& file = files_.at(extent.file);
    file.digest.add_leaf(offset, leaf.digest, slot.subspan(leaf.first, bytes));
    if (block.purpose != SendBlock::Purpose::compare) return;
    stream_.put(LeafRecord{extent.file, offset, leaf.digest});
    ++leaves_told_;
    if (file.looks == 0) file.told.insert({offset, offset + bytes});
}

void Source::drop_failed_extents(SendBlock& block) {
    std::erase_if(block.extents, [&](const Extent& extent) {
        const auto at = files_.find(extent.file);
        const bool failed = at == files_.end() || at->second.failed;
        if (failed) block.unresolved -= extent.bytes;
        return failed;
    });
}

// All of the block was read.
void Source::finish_block_read(SendBlock& block) {
    drop_failed_extents(block);
    if (block.dropped || block.extents.empty()) return release(block);
    LAMBDA_ASSERT(block.all_read());
    if (block.purpose == SendBlock::Purpose::again) return look_again(block);
    for (const Extent& extent : block.extents) maybe_check(extent.file, files_.at(extent.file));
    if (block.purpose == SendBlock::Purpose::compare) release(block);
}

// The second look, once all of the file was read and digested.
void Source::maybe_check(FileNumber number, File& file) {
    if (file.failed || file.checking || file.closed || file.unread > 0 || !file.digest.complete())
        return;
    file.checking = true;
    const ports::DiskTag tag = next_tag_++;
    checking_.emplace(tag, number);
    disk_.check_source(tag, file.disk_file);
}

void Source::handle_checked(const ports::DiskEvent& event) {
    const FileNumber number = checking_.extract(event.tag).mapped();
    File& file = files_.at(number);
    file.checking = false;
    if (!file.failed) {
        if (event.error) {
            fail(number, *event.error);
        } else if (event.removed) {
            fail_as_changed(number, "the file was removed or replaced while it was sent");
        } else if (event.size != file.size) {
            fail_as_changed(number, event.size < file.size
                                        ? "the file became shorter while it was sent"
                                        : "the file became longer while it was sent");
        } else if (event.mtime_ns != file.mtime_ns || event.ctime_ns != file.ctime_ns) {
            file.mtime_ns = event.mtime_ns;
            file.ctime_ns = event.ctime_ns;
            if (file.hole || file.looks == kMostLooks) {
                fail_as_changed(number, "the file changed while it was sent");
            } else {
                changed_.push_back(number);
            }
        } else {
            file.final_digest = file.digest.finish();
            file.closed = true;
            maybe_close(file);
            put_close(number, file);
        }
    }
    maybe_forget(number);
}

void Source::fail_as_changed(FileNumber number, const char* what) {
    fail(number, Error{.fault = Fault::file,
                       .message = what,
                       .path = files_.at(number).path,
                       .side = Side::local,
                       .remedy = "run the transfer again when nobody writes it"});
}

void Source::fail(FileNumber number, const Error& error) {
    File& file = files_.at(number);
    if (file.failed) return;
    file.failed = true;
    holes_.forget(number);
    stream_.put(VoidRecord{number, {0, file.size}, error.fault, error.message});
    listener_.on_failure({file.name, error});
    drop_blocks_of_failed();
}

void Source::drop_blocks_of_failed() {
    std::vector<std::uint64_t> dead;
    for (const auto& [index, block] : blocks_) {
        if (packed_ == index) continue;
        // Its packets are on their way, and what acknowledges them must find it: another of the
        // block's files may be asked for again.
        if (block.purpose == SendBlock::Purpose::again && block.opened) continue;
        const bool all_failed =
            std::all_of(block.extents.begin(), block.extents.end(), [&](const Extent& extent) {
                const auto at = files_.find(extent.file);
                return at != files_.end() && at->second.failed;
            });
        if (all_failed && !block.extents.empty()) dead.push_back(index);
    }
    for (const std::uint64_t index : dead) {
        SendBlock& block = blocks_.at(index);
        const bool took_credit = block.opened && block.purpose == SendBlock::Purpose::fresh;
        if (took_credit && !block.dropped) stream_.put(DropRecord{index});
        std::erase(ready_, index);
        block.dropped = true;
        if (block.reads_pending == 0) release(block);
    }
}

void Source::release(SendBlock& block) {
    if (!block.opened && block.purpose == SendBlock::Purpose::fresh) --blocks_ahead_;
    if (block.purpose == SendBlock::Purpose::compare) --comparing_;
    // What is on its way of a file that failed may be read from its slot yet (ports::Text::lasts):
    // that one is taken last of all.
    const bool on_its_way = block.dropped && block.opened;
    free_slots_.insert(on_its_way ? free_slots_.begin() : free_slots_.end(), block.slot);
    blocks_.erase(block.index);
}

// A file is forgotten once the receiver said what became of it, or it failed and no read is under
// way.
void Source::maybe_forget(FileNumber number) {
    const auto at = files_.find(number);
    if (at == files_.end()) return;
    File& file = at->second;
    if (!file.failed || file.reads_pending > 0 || file.checking || file.reopening) return;
    const bool in_block = std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
        return std::any_of(entry.second.extents.begin(), entry.second.extents.end(),
                           [&](const Extent& extent) { return extent.file == number; }) &&
               (entry.second.reads_pending > 0 || packed_ == entry.first);
    });
    if (in_block) return;
    forget(at);
}

void Source::forget(std::map<FileNumber, File>::iterator at) {
    if (at->second.open) {
        disk_.close(at->second.disk_file);
        --open_files_;
    }
    ranges_ -= at->second.ranges;
    extended_ -= at->second.extended;
    holes_.forget(at->first);
    files_.erase(at);
}

void Source::forget(std::unordered_map<FileNumber, Entry>::iterator at) {
    extended_ -= at->second.extended;
    entries_.erase(at);
}

void Source::handle_done(const DoneRecord& record) {
    if (const auto entry = entries_.find(record.file); entry != entries_.end()) {
        ++(entry->second.directory ? totals_.directories_done : totals_.links_done);
        return forget(entry);
    }
    const auto at = files_.find(record.file);
    if (at == files_.end() || !at->second.closed) return;
    File& file = at->second;
    if (record.digest == file.final_digest) {
        ++totals_.files_done;
        if (keeps(names_kept_, file.name)) names_done_.push_back(file.name);
        ++totals_.verified;
    } else {
        listener_.on_failure({file.name, Error{.fault = Fault::integrity,
                                               .message = "the digests of the two ends differ",
                                               .path = file.path,
                                               .side = Side::remote,
                                               .remedy = "send the file again"}});
    }
    if (file.reopening || file.reads_pending > 0) {
        file.failed = true;  // done without what it asked for: forgotten once the disk let go of it
        return;
    }
    forget(at);
}

void Source::handle_refuse(const RefuseRecord& record) {
    if (const auto entry = entries_.find(record.file); entry != entries_.end()) {
        listener_.on_failure({entry->second.name, Error{.fault = record.fault,
                                                        .message = record.message,
                                                        .path = entry->second.name,
                                                        .side = Side::remote,
                                                        .remedy = record.remedy}});
        return forget(entry);
    }
    const auto at = files_.find(record.file);
    if (at == files_.end() || at->second.failed) return;
    File& file = at->second;
    file.failed = true;
    holes_.forget(record.file);
    listener_.on_failure({file.name, Error{.fault = record.fault,
                                           .message = record.message,
                                           .path = file.name,
                                           .side = Side::remote,
                                           .remedy = record.remedy}});
    drop_blocks_of_failed();
    maybe_forget(record.file);
}

}  // namespace lambda::transfer
