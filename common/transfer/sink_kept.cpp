// What an earlier transfer left of a file is taken over, compared with the source leaf by leaf from
// this disk, and mended where it differs.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/sink.h"

namespace lambda::transfer {

void Sink::handle_found(const ports::DiskEvent& event) {
    // Where it cannot be said, it will show file by file.
    if (event.found || event.error) return;
    nothing_kept_ = true;
    stream_.put(NothingRecord{});
    if (read_back_) return;
    // Those that hold leaves just now, of files that changed, stay spare.
    const std::size_t keeps = spares_ && !spare_slots_.empty() ? 1 : 0;
    const auto kept = spare_slots_.begin() + static_cast<std::ptrdiff_t>(keeps);
    slots_for_credit_ += static_cast<std::uint64_t>(spare_slots_.end() - kept);
    free_slots_.insert(free_slots_.begin(), kept, spare_slots_.end());
    spare_slots_.erase(kept, spare_slots_.end());
}

void Sink::adopt(FileNumber number, File& file, ByteView journal) {
    HaveRecord have{number, {}};
    if (!journal.empty() && file.journal->take_up(journal)) {
        have.offsets = file.journal->durable(block_bytes_);
        file.kept = file.missing;
        for (const Range& range : have.offsets) {
            file.missing.erase(range);
            finish_blocks_of(file.record, range);
        }
        for (const Range& range : file.missing.ranges()) file.kept.erase(range);
        file.to_compare = file.kept.count();
        file.to_write -= file.to_compare;
        totals_.bytes_known -= file.to_compare;
        totals_.bytes_kept += file.to_compare;
        for (auto& [index, block] : blocks_) {
            if (!block.writing) block.expected.reset();
        }
    }
    stream_.put(have);
}

bool Sink::handle_leaf(const LeafRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end() || at->second.failed) {
        if (record.file < next_file_) stream_.put(ComparedRecord{});
        return record.file < next_file_;
    }
    File& file = at->second;
    const Range leaf{record.offset, std::min(record.offset + kLeafBytes, file.record.size)};
    if (leaf.empty() || to_compare_.size() == kMaxLeavesTold) return false;
    if (!file.kept.contains(leaf)) {
        if (!file.changed) return false;
        stream_.put(ComparedRecord{});  // it was asked for, and comes or came with its digest
        return true;
    }
    file.kept.erase(leaf);  // once
    ++file.compares_in_hand;
    to_compare_.push_back(record);
    return true;
}

// False: no slot is free.
bool Sink::start_compare(const LeafRecord& leaf, bool proves) {
    if (spare_slots_.empty()) return false;
    const auto bytes = std::min(kLeafBytes, files_.at(leaf.file).record.size - leaf.offset);
    comparing_[spare_slots_.back()] = {
        .leaf = leaf, .proves = proves, .bytes = static_cast<std::uint32_t>(bytes)};
    spare_slots_.pop_back();
    return true;
}

void Sink::issue_compares() {
    while (!to_prove_.empty() && start_compare(to_prove_.front(), true)) to_prove_.pop_front();
    while (!to_compare_.empty() && comparable(files_.at(to_compare_.front().file)) &&
           start_compare(to_compare_.front(), false)) {
        to_compare_.pop_front();
    }
    std::vector<std::uint32_t> over;
    for (auto& [slot, compare] : comparing_) {
        const File& file = files_.at(compare.leaf.file);
        if (file.failed) compare.issued = compare.bytes;
        while (compare.issued < compare.bytes) {
            const std::uint32_t bytes =
                std::min(ports::kDiskPieceBytes, compare.bytes - compare.issued);
            if (!disk_.read(next_tag_, file.disk_file, compare.leaf.offset + compare.issued, slot,
                            compare.issued, bytes)) {
                break;
            }
            compare_reads_[next_tag_++] = {slot, bytes};
            compare.issued += bytes;
            ++compare.reads_in_flight;
        }
        if (compare.issued == compare.bytes && compare.reads_in_flight == 0) over.push_back(slot);
    }
    for (const std::uint32_t slot : over) judge(slot);
}

void Sink::handle_compared(const ports::DiskEvent& event) {
    const CompareRead read = compare_reads_.extract(event.tag).mapped();
    Compare& compare = comparing_.at(read.slot);
    --compare.reads_in_flight;
    // An unreadable leaf is no worse than a wrong one: both are written again.
    compare.bad = compare.bad || event.error || event.bytes != read.bytes;
    if (compare.issued == compare.bytes && compare.reads_in_flight == 0) judge(read.slot);
}

void Sink::judge(std::uint32_t slot) {
    const Compare compare = comparing_.extract(slot).mapped();
    const LeafRecord& leaf = compare.leaf;
    File& file = files_.at(leaf.file);
    const bool same = !file.failed && !compare.bad &&
                      leaf_digest(disk_.slot(slot).first(compare.bytes)) == leaf.digest;
    const bool differs = !file.failed && !same;
    const std::uint64_t index = (file.record.place + leaf.offset) / block_bytes_;
    const auto block = blocks_.find(index);
    if (differs && block != blocks_.end() && block->second.writing) {
        spare_slots_.push_back(slot);
        (compare.proves ? to_prove_ : to_compare_).push_back(leaf);  // look again
        return;
    }
    if (compare.proves) --leaves_unproved_;
    --file.compares_in_hand;
    if (differs && compare.proves && hopeless(file, leaf.offset)) {
        spare_slots_.push_back(slot);
        return fail_over_disk(leaf.file, file);
    }
    if (differs) {
        mend(slot, compare, file);
    } else {
        spare_slots_.push_back(slot);
        if (same)
            file.digest.add_leaf(leaf.offset, leaf.digest, disk_.slot(slot).first(compare.bytes));
        file.to_compare -= compare.bytes;
    }
    if (!compare.proves) stream_.put(ComparedRecord{});
    if (file.failed) return forget_failed(leaf.file);
    maybe_commit(leaf.file);
}

// The leaf comes again, into its block, which the sender has not opened, since all of it was kept,
// or has seen acknowledged, and which is not being written.
void Sink::mend(std::uint32_t slot, const Compare& compare, File& file) {
    const LeafRecord& leaf = compare.leaf;
    const Range offsets{leaf.offset, std::min(leaf.offset + kLeafBytes, file.record.size)};
    const std::uint64_t index = (file.record.place + leaf.offset) / block_bytes_;
    const auto open = blocks_.find(index);
    if (open != blocks_.end()) {
        open->second.expected.reset();
        spare_slots_.push_back(slot);
    } else {
        finished_blocks_.erase({index, index + 1});
        Block& block = blocks_[index];
        block.slot = slot;
        block.spare = true;
    }
    if (file.journal) file.journal->forget(offsets);
    file.missing.insert(offsets);
    file.to_compare -= offsets.length();
    file.to_write += offsets.length();
    if (!compare.proves) {
        totals_.bytes_known += offsets.length();
        if (!file.changed) totals_.bytes_kept -= offsets.length();
    }
    ++totals_.leaves_again;
    if (file.changed && !compare.bad) ++totals_.leaves_changed;
    stream_.put(AgainRecord{leaf.file, leaf.offset});
}

}  // namespace lambda::transfer
