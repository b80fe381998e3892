// What was written is flushed, read from the disk again and compared, leaf by leaf, while more
// comes.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/sink.h"

namespace lambda::transfer {

// A leaf came whole and will be written. It counts for the file's digest once it was read back.
void Sink::await_proof(File& file, std::uint64_t offset, const Digest& digest) {
    file.proof->leaves.emplace(offset, digest);
    ++leaves_unproved_;
    file.to_compare += std::min(kLeafBytes, file.record.size - offset);
}

void Sink::note_written(FileNumber number, File& file, Range offsets) {
    file.proof->written.insert(offsets);
    unproved_.insert(number);
    unproved_bytes_ += offsets.length();
    // Nothing else of this file is to come.
    if (file.close && file.to_write == 0) flush_at_ = Time{};
}

void Sink::flush_files(Time now) {
    if (unproved_.empty()) {
        flush_at_ = kNever;
        return;
    }
    if (flush_at_ == kNever) flush_at_ = now + kSyncEvery;
    if (now < flush_at_ && unproved_bytes_ < kSyncBytes) return;
    for (auto next = unproved_.begin(); next != unproved_.end() && flushing_.size() < kMostSyncs;) {
        const FileNumber number = *next;
        File& file = files_.at(number);
        Proof& proof = *file.proof;
        if (proof.flushing) {
            ++next;
            continue;
        }
        next = unproved_.erase(next);
        if (file.failed || file.step != File::Step::open) continue;
        Flush flush{.file = number, .leaves = {}};
        std::erase_if(proof.leaves, [&](const auto& leaf) {
            const Range range{leaf.first, std::min(leaf.first + kLeafBytes, file.record.size)};
            if (!proof.written.contains(range)) return false;
            proof.written.erase(range);
            flush.leaves.push_back({number, leaf.first, leaf.second});
            return true;
        });
        if (flush.leaves.empty()) continue;
        proof.flushing = true;
        const ports::DiskTag tag = next_tag_++;
        flushing_.emplace(tag, std::move(flush));
        disk_.flush(tag, file.disk_file);
    }
    unproved_bytes_ = 0;
    flush_at_ = unproved_.empty() ? kNever : now + kSyncEvery;
}

void Sink::handle_flushed(const ports::DiskEvent& event) {
    const Flush flush = flushing_.extract(event.tag).mapped();
    File& file = files_.at(flush.file);
    file.proof->flushing = false;
    if (file.failed || event.error) leaves_unproved_ -= flush.leaves.size();
    if (file.failed) return forget_failed(flush.file);
    if (event.error) return fail(flush.file, *event.error, true);
    for (const LeafRecord& leaf : flush.leaves) {
        to_prove_.push_back(leaf);
        ++file.compares_in_hand;
    }
}

// Whether a leaf that reads back different did so too often.
bool Sink::hopeless(File& file, std::uint64_t offset) {
    return file.proof->different[offset]++ == kMostAgain;
}

void Sink::fail_over_disk(FileNumber number, const File& file) {
    fail(number,
         Error{.fault = Fault::integrity,
               .message = "the disk gives back something else than was written, several times",
               .path = target_.of(file.record.name).text(),
               .side = Side::local,
               .remedy = "test that disk and the machine's memory"},
         true);
}

}  // namespace lambda::transfer
