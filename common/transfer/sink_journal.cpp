// Written data becomes durable: flushed, then journalled, now and then.
#include "common/base/assert.h"
#include "common/transfer/sink.h"

namespace lambda::transfer {

void Sink::sync_files(Time now) {
    if (unsynced_.empty()) {
        sync_at_ = kNever;  // what waited got its name, or failed
        return;
    }
    if (sync_at_ == kNever) sync_at_ = now + kSyncEvery;
    if (now < sync_at_ && unsynced_bytes_ < kSyncBytes) return;
    for (auto next = unsynced_.begin(); next != unsynced_.end() && syncing_.size() < kMostSyncs;) {
        const FileNumber number = *next;
        File& file = files_.at(number);
        const bool ends = file.close && file.to_write == 0 && file.to_compare == 0;
        if (file.syncing) {
            ++next;
            continue;
        }
        next = unsynced_.erase(next);
        // What is about to get its name is flushed then.
        if (ends || file.failed || file.step != File::Step::open) continue;
        auto image = file.journal->begin_sync();
        if (!image) continue;
        file.syncing = true;
        const ports::DiskTag tag = next_tag_++;
        syncing_.emplace(tag, number);
        disk_.sync(tag, file.disk_file, image->offset, std::move(image->bytes));
    }
    unsynced_bytes_ = 0;
    sync_at_ = unsynced_.empty() ? kNever : now + kSyncEvery;
}

void Sink::handle_synced(const ports::DiskEvent& event) {
    const FileNumber number = syncing_.extract(event.tag).mapped();
    File& file = files_.at(number);
    file.syncing = false;
    if (event.error) {
        if (!file.failed) return fail(number, *event.error, true);
        return forget_failed(number);
    }
    file.journal->end_sync();
    if (file.failed) return forget_failed(number);
    maybe_commit(number);
}

}  // namespace lambda::transfer
