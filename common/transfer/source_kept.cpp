// What the receiver has from an earlier transfer: it is not sent. It is read, behind what is sent,
// and its digests are told, so that the receiver can compare what lies on its disk with what the
// source holds now.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/source.h"

namespace lambda::transfer {

void Source::handle_nothing() {
    nothing_kept_ = true;
    for (auto& [number, file] : files_) file.awaiting = false;
}

bool Source::handle_have(const HaveRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end()) return record.file < next_file_;
    File& file = at->second;
    if (!file.awaiting) return true;
    IntervalSet fresh, kept;
    for (const Range& range : file.data) fresh.insert(range);
    for (const Range& range : record.offsets) {
        const bool whole_blocks = range.first % block_bytes_ == 0 &&
                                  (range.last % block_bytes_ == 0 || range.last == file.size);
        if (range.last > file.size || !whole_blocks) return false;
        fresh.erase(range);
    }
    for (const Range& range : file.data) kept.insert(range);
    for (const Range& range : fresh.ranges()) kept.erase(range);
    file.awaiting = false;
    file.data = fresh.ranges();
    file.kept = kept.ranges();
    const std::uint64_t bytes = kept.count();
    totals_.bytes_known -= bytes;
    totals_.bytes_kept += bytes;
    if (bytes > 0) to_compare_.push_back(record.file);
    return true;
}

bool Source::handle_compared() {
    if (leaves_told_ == 0) return false;
    --leaves_told_;
    return true;
}

void Source::plan_compares() {
    const std::size_t leaves = block_bytes_ / kLeafBytes;
    while (!to_compare_.empty()) {
        const FileNumber number = to_compare_.front();
        const auto at = files_.find(number);
        if (at == files_.end() || at->second.failed || at->second.kept.empty()) {
            to_compare_.pop_front();
            continue;
        }
        File& file = at->second;
        const std::uint64_t index = block_of(file.place + file.kept.front().first);
        const std::size_t in_hand = leaves_told_ + comparing_ * leaves;
        if (comparing_ == kComparesAhead || in_hand + leaves > kMaxLeavesTold ||
            free_slots_.size() <= 1 || blocks_.contains(index)) {
            return;
        }
        SendBlock& block = blocks_[index];
        block.purpose = SendBlock::Purpose::compare;
        block.index = index;
        block.slot = free_slots_.back();
        free_slots_.pop_back();
        ++comparing_;
        add_extents(block, number, file, file.kept);
    }
}

}  // namespace lambda::transfer
