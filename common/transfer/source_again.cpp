// Leaves that must go again: read from the disk once more, since what stood in memory may be what
// is wrong.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/source.h"

namespace lambda::transfer {

bool Source::handle_again(const AgainRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end() || at->second.failed) return record.file < next_file_;
    File& file = at->second;
    const bool never_sent =
        std::any_of(file.data.begin(), file.data.end(), [&](const Range& unplanned) {
            return unplanned.first <= record.offset && record.offset < unplanned.last;
        });
    // Where a file that is all hole lies, the next one does.
    if (file.hole || record.offset >= file.size || never_sent || again_.size() == kMostAgain)
        return false;
    again_.push_back(record);
    const Range leaf{record.offset, std::min(record.offset + kLeafBytes, file.size)};
    const std::uint64_t moves = file.told.erase(leaf);
    totals_.bytes_kept -= moves;
    totals_.bytes_known += moves;
    ++totals_.leaves_again;
    // What is asked for once more came damaged.
    if (file.looks > 0 && file.changed.insert(leaf) > 0) ++totals_.leaves_changed;
    return true;
}

void Source::read_again() {
    while (!again_.empty() && !free_slots_.empty()) {
        const AgainRecord wanted = again_.front();
        const auto at = files_.find(wanted.file);
        if (at == files_.end() || at->second.failed) {
            again_.pop_front();
            continue;
        }
        File& file = at->second;
        const std::uint64_t place = file.place + wanted.offset;
        const std::uint64_t index = block_of(place);
        // The receiver has all of the block, and the acknowledgement of its rest is on its way.
        if (blocks_.contains(index)) return;
        if (!file.open && !file.reread) {
            if (file.reopening) return;
            file.reopening = true;
            const ports::DiskTag tag = next_tag_++;
            reopening_.emplace(tag, wanted.file);
            return disk_.open_source(
                tag, {.path = file.path, .follow = file.follow, .named = file.named}, kLeafBytes);
        }
        again_.pop_front();
        SendBlock& block = blocks_[index];
        block.purpose = SendBlock::Purpose::again;
        block.index = index;
        block.slot = free_slots_.back();
        free_slots_.pop_back();
        const Extent leaf{
            wanted.file, wanted.offset, static_cast<std::uint32_t>(place % block_bytes_),
            static_cast<std::uint32_t>(std::min(kLeafBytes, file.size - wanted.offset))};
        block.extents.push_back(leaf);
        block.unresolved = leaf.bytes;
        if (!file.reread) {
            plan_reads(block, file, leaf);
            continue;
        }
        std::copy(file.reread->begin(), file.reread->end(),
                  disk_.slot(block.slot).begin() + leaf.at);
        file.reread.reset();
        add_leaves(block, leaf);
        take_piece(block, leaf);
        finish_block_read(block);
    }
}

void Source::handle_reopened(const ports::DiskEvent& event) {
    const FileNumber number = reopening_.extract(event.tag).mapped();
    File& file = files_.at(number);
    file.reopening = false;
    if (event.content) {
        file.reread = event.content;
    } else if (!event.error) {
        file.disk_file = event.file;
        file.open = true;
        ++open_files_;
    }
    if (file.failed) return maybe_forget(number);
    if (event.error) {
        fail(number, *event.error);
    } else if (!is_as_told(file, event) || (event.content && event.content->size() != file.size)) {
        fail_as_changed(number, "the file changed while it was sent");
    }
    maybe_forget(number);
}

bool Source::is_as_told(const File& file, const ports::DiskEvent& looked) {
    return looked.size == file.size && looked.mtime_ns == file.mtime_ns &&
           looked.ctime_ns == file.ctime_ns;
}

// A leaf was read. Where the file's last look was before that, one more tells whether it is what
// the file's digest is of.
void Source::look_again(SendBlock& block) {
    const FileNumber number = block.extents.front().file;
    File& file = files_.at(number);
    if (!file.open || !(file.closed || file.checking)) return ready_.push_front(block.index);
    ++block.reads_pending;
    ++file.reads_pending;
    const ports::DiskTag tag = next_tag_++;
    looking_again_.emplace(tag, Look{block.index, number});
    disk_.check_source(tag, file.disk_file);
}

void Source::handle_looked_again(const ports::DiskEvent& event) {
    const Look look = looking_again_.extract(event.tag).mapped();
    SendBlock& block = blocks_.at(look.block);
    File& file = files_.at(look.file);
    --block.reads_pending;
    --file.reads_pending;
    if (file.failed) {
        release(block);
    } else if (event.error) {
        fail(look.file, *event.error);
    } else if (!is_as_told(file, event)) {
        fail_as_changed(look.file, "the file changed while it was sent");
    } else {
        maybe_close(file);
        ready_.push_front(block.index);
    }
    maybe_forget(look.file);
}

// Once its digest was told, a file is open only while a leaf of it is read again.
void Source::maybe_close(File& file) {
    if (!file.open || !file.closed || file.reads_pending > 0) return;
    disk_.close(file.disk_file);
    file.open = false;
    --open_files_;
}

}  // namespace lambda::transfer
