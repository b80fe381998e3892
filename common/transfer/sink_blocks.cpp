// Sink: blocks, from their first packet until all of them is on its way to the disk, or was
// written.
#include <algorithm>
#include <cstring>

#include "common/transfer/sink.h"

namespace lambda::transfer {

bool Sink::handle_drop(const DropRecord& record) {
    const auto at = blocks_.find(record.block);
    if (at != blocks_.end()) {
        if (!at->second.writing) finish_block(record.block);
    } else if (!finished_blocks_.contains({record.block, record.block + 1})) {
        // Opened and given up before anything of it came.
        finished_blocks_.insert({record.block, record.block + 1});
        ++freed_blocks_;
    }
    return true;
}

Sink::Landing Sink::landing(std::uint64_t place, std::size_t bytes, bool leaf_end,
                            bool bare) const {
    using Where = Landing::Where;
    const std::uint64_t index = place / block_bytes_;
    const std::uint64_t at = place % block_bytes_;
    if (bytes == 0 || at + bytes > block_bytes_) return {};
    const auto open = blocks_.find(index);
    if (open != blocks_.end()) {
        const Block& block = open->second;
        // What was overtaken and comes only now may be changed; asked for, it comes covered.
        if (bare && !block.asked.empty()) return {};
        const bool missing = !block.writing && !block.received.intersects({at, at + bytes});
        if (!missing || leaf_end) return {Where::scratch, nullptr};
        return {Where::direct, disk_.slot(block.slot).data() + at};
    }
    if (finished_blocks_.contains({index, index + 1})) return {Where::scratch, nullptr};
    // Nothing is taken for a new block before a packet of it has proved itself.
    if (free_slots_.empty()) return {};
    return {Where::scratch, nullptr};
}

ByteSpan Sink::room(std::uint64_t place) const {
    const auto open = blocks_.find(place / block_bytes_);
    if (open == blocks_.end()) return {};
    const Block& block = open->second;
    const std::uint64_t at = place % block_bytes_;
    if (block.writing || !block.asked.empty() || !is_one_file(block) || at >= block.expected_bytes)
        return {};
    const std::uint64_t end = std::min(at - at % kLeafBytes + kLeafBytes, block.expected_bytes);
    const auto gap = block.received.first_gap({at, end});
    if (!gap || gap->first != at) return {};
    return disk_.slot(block.slot).subspan(at, gap->length());
}

void Sink::accept(std::uint64_t place, ByteView bytes, const Digest* digest) {
    const std::uint64_t index = place / block_bytes_;
    const auto at = static_cast<std::uint32_t>(place % block_bytes_);
    const auto last = static_cast<std::uint32_t>(at + bytes.size());
    auto open = blocks_.find(index);
    if (open == blocks_.end()) {
        if (finished_blocks_.contains({index, index + 1}) || free_slots_.empty()) return;
        open = blocks_.emplace(index, Block{}).first;
        open->second.slot = free_slots_.back();
        free_slots_.pop_back();
        open->second.received.reserve(64);
    }
    Block& block = open->second;
    if (block.writing) return;
    std::byte* const slot = disk_.slot(block.slot).data();
    if (bytes.data() != slot + at) {
        // Only what is missing: a range that was received before never changes.
        Range rest{at, last};
        while (const auto gap = block.received.first_gap(rest)) {
            std::memcpy(slot + gap->first, bytes.data() + (gap->first - at), gap->length());
            rest.first = gap->last;
        }
    }
    totals_.bytes_received += block.received.insert({at, last});
    if (digest != nullptr) block.digests.emplace(last, *digest);
    count_pieces(block, block.received.ranges().size() + block.digests.size());
    digest_ahead(block, last);
    if (!block.expected || block.received.count() >= block.expected_bytes) evaluate(index);
}

// A large one's block, from its beginning on.
bool Sink::is_one_file(const Block& block) {
    return block.expected && block.expected->size() == 1 && block.expected->front().at == 0;
}

// What came last lies in the processor's cache. Of small files each is a leaf, which is digested
// with its block.
void Sink::digest_ahead(Block& block, std::uint32_t last) {
    if (!is_one_file(block)) return;
    const auto leaf = static_cast<std::uint32_t>((last - 1) / kLeafBytes * kLeafBytes);
    const std::uint32_t from = block.digest.reached(leaf);
    if (last < from + LeafDigest::kStep) return;
    const Range rest{from, leaf + kLeafBytes};
    const auto gap = block.received.first_gap(rest);
    const auto reached = static_cast<std::uint32_t>(gap ? gap->first : rest.last);
    if (reached >= from + LeafDigest::kStep)
        block.digest.extend(disk_.slot(block.slot), leaf, reached);
}

bool Sink::described(std::uint64_t index) const {
    return finish_files_.has_value() || frontier_ >= (index + 1) * block_bytes_;
}

void Sink::describe(std::uint64_t index, Block& block) {
    const std::uint64_t first = index * block_bytes_;
    const std::uint64_t last = first + block_bytes_;
    std::vector<Extent> extents;
    std::uint64_t total = 0;
    auto at = by_place_.upper_bound(first);
    if (at != by_place_.begin()) --at;
    for (; at != by_place_.end() && at->first < last; ++at) {
        const File& file = files_.at(at->second);
        const std::uint64_t place = file.record.place;
        Range rest{std::max(place, first) - place, std::max(place, last) - place};
        while (const auto range = file.missing.first_within(rest)) {
            const auto bytes = static_cast<std::uint32_t>(range->length());
            extents.push_back({at->second, range->first,
                               static_cast<std::uint32_t>(place + range->first - first), bytes});
            total += bytes;
            rest.first = range->last;
        }
    }
    block.expected = std::move(extents);
    block.expected_bytes = total;
}

void Sink::evaluate(std::uint64_t index) {
    const auto at = blocks_.find(index);
    if (at == blocks_.end() || at->second.writing) return;
    Block& block = at->second;
    if (!block.expected) {
        if (!described(index)) return;
        describe(index, block);
    }
    if (block.expected->empty()) return finish_block(index);
    for (const Extent& extent : *block.expected) {
        if (!block.received.contains({extent.at, std::uint64_t{extent.at} + extent.bytes})) return;
    }
    complete(index, block);
}

void Sink::evaluate_all() {
    std::vector<std::uint64_t> open;
    for (const auto& [index, block] : blocks_) {
        if (!block.expected || block.expected->empty()) open.push_back(index);
    }
    for (const std::uint64_t index : open) evaluate(index);
}

void Sink::complete(std::uint64_t index, Block& block) {
    if (!leaves_agree(block)) return;
    block.writing = true;
    ++blocks_writing_;
    for (const Extent& extent : *block.expected) {
        File& file = files_.at(extent.file);
        totals_.bytes_complete += extent.bytes;
        file.missing.erase({extent.offset, extent.offset + extent.bytes});
        for (std::uint32_t done = 0; done < extent.bytes; done += ports::kDiskWriteBytes) {
            const std::uint32_t bytes = std::min(ports::kDiskWriteBytes, extent.bytes - done);
            const Write piece{index, {extent.file, extent.offset + done, extent.at + done, bytes}};
            ++block.writes_left;
            queue(extent.file, file, piece);
        }
    }
    std::vector<FileNumber> whole;
    bool closed = true;
    for (const Extent& extent : *block.expected) {
        const File& file = files_.at(extent.file);
        if (!file.content) continue;
        whole.push_back(extent.file);
        closed = closed && file.close;
    }
    if (closed && !whole.empty() && !read_back_) block.last = whole.back();
    for (const FileNumber number : whole) maybe_commit(number);
}

// The leaves of a block are taken all together. Those that differ are asked for again, and the
// block stays open for them; a file fails over a leaf that never comes right.
bool Sink::leaves_agree(Block& block) {
    struct Leaf {
        FileNumber file;
        std::uint64_t offset;
        Digest digest;
        ByteView bytes;
    };
    std::vector<Leaf> good;
    std::vector<FileNumber> hopeless;
    bool agree = true;
    const ByteSpan slot = disk_.slot(block.slot);
    for (const Extent& extent : *block.expected) {
        for (std::uint32_t done = 0; done < extent.bytes;) {
            const auto bytes = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(kLeafBytes, extent.bytes - done));
            const std::uint32_t first = extent.at + done, last = first + bytes;
            const std::uint64_t offset = extent.offset + done;
            const Digest digest = block.digest.finish(slot, first, last);
            const auto said = block.digests.find(last);
            done += bytes;
            if (said != block.digests.end() && said->second == digest) {
                good.push_back({extent.file, offset, digest, slot.subspan(first, bytes)});
                continue;
            }
            agree = false;
            if (block.asked[last]++ == kMostAgain) {
                hopeless.push_back(extent.file);
                continue;
            }
            block.received.erase({first, last});
            block.digest.forget();
            if (said != block.digests.end()) block.digests.erase(said);
            stream_.put(AgainRecord{extent.file, offset});
            ++totals_.leaves_again;
        }
    }
    if (agree) {
        for (const Leaf& leaf : good) {
            File& file = files_.at(leaf.file);
            if (file.proof) {
                await_proof(file, leaf.offset, leaf.digest);
            } else {
                file.digest.add_leaf(leaf.offset, leaf.digest, leaf.bytes);
            }
        }
    }
    // Last of all: without these files the block may be complete, and gone.
    for (const FileNumber number : hopeless) {
        const auto at = files_.find(number);
        if (at == files_.end()) continue;  // twice among them
        fail(
            number,
            Error{.fault = Fault::integrity,
                  .message = "a block came with another digest than the sender took, several times",
                  .path = target_.of(at->second.record.name).text(),
                  .side = Side::local,
                  .remedy = "test the memory of both machines, and send the file again"},
            true);
    }
    return agree;
}

std::uint64_t Sink::bytes_in_hand() const {
    std::uint64_t bytes = 0;
    for (const auto& [index, block] : blocks_) {
        if (!block.writing) bytes += block.received.count();
    }
    return bytes;
}

void Sink::write_ended(std::uint64_t index) {
    Block& block = blocks_.at(index);
    if (--block.writes_left == 0) finish_block(index);
}

void Sink::finish_block(std::uint64_t index) {
    const auto at = blocks_.find(index);
    const bool spare = at->second.spare;
    if (at->second.writing) --blocks_writing_;
    count_pieces(at->second, 0);
    (spare ? spare_slots_ : free_slots_).push_back(at->second.slot);
    blocks_.erase(at);
    finished_blocks_.insert({index, index + 1});
    if (!spare) ++freed_blocks_;
}

void Sink::count_pieces(Block& block, std::size_t pieces) {
    pieces_ = pieces_ - block.pieces + pieces;
    block.pieces = pieces;
}

}  // namespace lambda::transfer
