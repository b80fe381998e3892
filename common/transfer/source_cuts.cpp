// Blocks that were read, cut into what packets carry, until all of them was acknowledged.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/source.h"

namespace lambda::transfer {
namespace {

// How many of `wanted` bytes fit a packet: the last byte of a leaf takes the digest along.
std::uint64_t fitting(std::uint64_t wanted, bool ends_leaf, std::size_t payload) {
    if (!ends_leaf) return std::min<std::uint64_t>(wanted, payload);
    if (wanted + sizeof(Digest) <= payload) return wanted;
    return std::min<std::uint64_t>(wanted - 1, payload);
}

}  // namespace

bool Source::can_take(std::uint64_t credit) const {
    if (ready_.empty()) return false;
    return opened_blocks_ < credit ||
           blocks_.at(ready_.front()).purpose == SendBlock::Purpose::again;
}

Source::Lack Source::lack() const {
    if (!ready_.empty()) return Lack::credit;
    if (disk_works() || !reads_.empty()) return Lack::disk;
    if (free_slots_.size() <= 1) return Lack::memory;
    if (announce_stuck_ && !ahead_.empty()) return Lack::receiver;
    return ahead_.empty() && !walker_.ended() ? Lack::disk : Lack::nothing;
}

SendBlock* Source::take_ready(std::uint64_t credit) {
    if (ready_.empty()) fall_short();
    if (!can_take(credit)) {
        wanted_ = true;
        return nullptr;
    }
    ++taken_;
    SendBlock& block = blocks_.at(ready_.front());
    ready_.pop_front();
    block.opened = true;
    if (block.purpose == SendBlock::Purpose::fresh) {
        --blocks_ahead_;
        ++opened_blocks_;
    }
    return &block;
}

// Somebody asked for more than was read.
void Source::fall_short() {
    wanted_ = true;
    if (disk_lags_ && !reading_.empty() && taken_ >= most_ahead_) {
        most_ahead_ = std::min(2 * most_ahead_, kMostAhead);
        taken_ = 0;
    }
}

bool Source::can_copy() const {
    if (reads_.size() == reads_aside_) return false;
    const File& file = files_.at(reads_.front().extent.file);
    return !file.failed && copies_here(file);
}

bool Source::copies_here(const File& file) const {
    return file.in_memory && disk_.copies_here(file.disk_file);
}

bool Source::copy_wanted() {
    return wanted_ && can_copy() && start_reads();
}

SendBlock* Source::find(std::uint64_t index) {
    const auto at = blocks_.find(index);
    return at == blocks_.end() || at->second.dropped ? nullptr : &at->second;
}

ByteView Source::text(const SendBlock& block, std::uint32_t first, std::uint32_t last) {
    return disk_.slot(block.slot).subspan(first, last - first);
}

std::optional<Cut> Source::cut_fresh(SendBlock& block, std::size_t payload) {
    if (!block.fills(payload)) {
        fall_short();
        return std::nullopt;
    }
    const SendBlock::Leaf& leaf = block.leaves[block.next_leaf];
    const std::uint32_t first = leaf.first + block.sent_in_leaf;
    const std::uint64_t left = leaf.last - first;
    const std::uint64_t bytes = fitting(left, true, payload);
    Cut cut{block.index * block_bytes_ + first,
            text(block, first, first + static_cast<std::uint32_t>(bytes)),
            {}};
    if (bytes == left) {
        cut.digest = leaf.digest;
        ++block.next_leaf;
        block.sent_in_leaf = 0;
    } else {
        block.sent_in_leaf += static_cast<std::uint32_t>(bytes);
    }
    return cut;
}

std::optional<Cut> Source::cut_again(Range places, std::size_t payload) {
    const SendBlock* block = find(block_of(places.first));
    // One that nobody sends yet is another of that index: what is asked for was acknowledged.
    if (block == nullptr || !block->opened) return std::nullopt;
    const std::uint64_t base = block->index * block_bytes_;
    const auto first = static_cast<std::uint32_t>(places.first - base);
    const auto leaf =
        std::find_if(block->leaves.begin(), block->leaves.end(),
                     [&](const SendBlock::Leaf& l) { return l.first <= first && first < l.last; });
    if (leaf == block->leaves.end()) return std::nullopt;
    const std::uint64_t wanted =
        std::min<std::uint64_t>(places.last - places.first, leaf->last - first);
    const std::uint64_t bytes = fitting(wanted, first + wanted == leaf->last, payload);
    Cut cut{places.first, text(*block, first, first + static_cast<std::uint32_t>(bytes)), {}};
    if (first + bytes == leaf->last) cut.digest = leaf->digest;
    return cut;
}

bool Source::settled() const {
    // What failed waits for the disk alone.
    return finish_sent_ && entries_.empty() &&
           std::all_of(files_.begin(), files_.end(),
                       [](const auto& entry) { return entry.second.failed; });
}

void Source::resolve_all() {
    for (auto& [index, block] : blocks_) {
        if (block.dropped) continue;
        totals_.bytes_acknowledged += block.unresolved;
        block.unresolved = 0;
    }
}

void Source::resolve(Range places) {
    while (!places.empty()) {
        const std::uint64_t index = block_of(places.first);
        const Range part{places.first, std::min(places.last, block_end(places.first))};
        places.first = part.last;
        SendBlock* block = find(index);
        if (block == nullptr) continue;
        LAMBDA_ASSERT(block->unresolved >= part.length());
        block->unresolved -= part.length();
        totals_.bytes_acknowledged += part.length();
        if (block->unresolved == 0) release(*block);
    }
}

}  // namespace lambda::transfer
