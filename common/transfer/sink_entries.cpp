// Sink: entries from their announcement to their end; the blocks between are in sink_blocks.cpp.
#include "common/base/assert.h"
#include "common/transfer/extended_limit.h"
#include "common/transfer/sink.h"

namespace lambda::transfer {

std::optional<bool> Sink::handle_tree(const Record& record) {
    if (const auto* directory = std::get_if<DirectoryRecord>(&record)) {
        if (!announces(directory->entry, directory->metadata.archived)) return false;
        current_name_ = directory->name;
        tree_.enter(*directory);
        return true;
    }
    if (const auto* leave = std::get_if<LeaveRecord>(&record)) return tree_.leave(*leave);
    if (const auto* link = std::get_if<LinkRecord>(&record)) {
        if (!announces(link->entry, link->metadata.archived)) return false;
        tree_.link(*link);
        return true;
    }
    if (const auto* same = std::get_if<SameRecord>(&record)) {
        if (!announces(same->entry, {})) return false;
        tree_.same(*same, in_hand(same->first));
        return true;
    }
    return std::nullopt;
}

// A new entry may begin, under that number.
bool Sink::announces(FileNumber number, const std::optional<ports::Archived>& archived) {
    const bool full =
        files_.size() + tree_.in_hand() >= kMaxInHand ||
        extended_ + tree_.extended() + extended_in_hand(archived) > 2 * kMostExtendedInHand;
    if (number != next_file_ || finish_files_ || full) return false;
    ++next_file_;
    return true;
}

// Nothing will be given them any more.
void Sink::drop_attributes(File& file) {
    extended_ -= extended_in_hand(file.record.archived);
    file.record.archived.reset();
}

std::optional<FileNumber> Sink::in_hand(const std::string& name) const {
    for (const auto& [number, file] : files_) {
        if (file.record.name == name) return number;
    }
    return tree_.link_in_hand(name);
}

bool Sink::digests_agree(const File& file) const {
    if (!file.digest.complete() || file.digest.finish() != file.close->digest) return false;
    return !strong_ || file.strong == file.digest.finish_strong();
}

bool Sink::handle_strong(const StrongRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end()) return record.file < next_file_;
    if (!strong_ || at->second.strong || at->second.close) return false;
    at->second.strong = record.digest;
    return true;
}

bool Sink::handle_close(const CloseRecord& record) {
    const auto at = files_.find(record.file);
    if (at == files_.end()) return record.file < next_file_;
    if (at->second.failed) return true;
    if (at->second.close || record.size != at->second.record.size) return false;
    at->second.close = record;
    if (at->second.proof && at->second.to_write == 0) flush_at_ = Time{};  // nothing else will come
    maybe_commit(record.file);
    return true;
}

void Sink::queue(FileNumber number, File& file, const Write& write) {
    if (file.step == File::Step::whole) {
        file.content = write;
        file.to_write -= write.extent.bytes;
        return;
    }
    ++file.writes_in_flight;
    if (file.step == File::Step::creating) {
        waiting_[number].push_back(write);
    } else {
        to_write_.push_back(write);
    }
}

void Sink::maybe_commit(FileNumber number) {
    File& file = files_.at(number);
    const bool open = file.step == File::Step::open || file.step == File::Step::whole;
    const bool whole =
        file.close && file.to_write == 0 && file.to_compare == 0 && !file.digest.lags();
    if (file.failed || !open || !whole) return;
    // The disk knows nothing of a small one yet.
    if (file.step == File::Step::open && disk_has(number, file)) return;
    if (!digests_agree(file)) {
        fail(number,
             Error{.fault = Fault::integrity,
                   .message = "the digests of the two ends differ",
                   .path = target_.of(file.record.name).text(),
                   .side = Side::local,
                   .remedy = "send the file again"},
             true);
        return;
    }
    const ports::DiskTag tag = next_tag_++;
    committing_.emplace(tag, number);
    const bool small = file.step == File::Step::whole;
    file.step = File::Step::committing;
    const ports::FileMetadata metadata{file.record.size, file.close->mtime_ns, file.record.mode,
                                       file.record.archived};
    if (!small) return disk_.commit(tag, file.disk_file, metadata);
    ports::Making making{.kind = ports::Making::Kind::file,
                         .name = target_.of(file.record.name),
                         .metadata = metadata};
    if (file.content) {
        const Block& block = blocks_.at(file.content->block);
        making.slot = block.slot;
        making.at = file.content->extent.at;
        making.bytes = file.content->extent.bytes;
        making.returns = block.last == number;
        if (read_back_) making.expected = block.digests.at(making.at + making.bytes);
    }
    disk_.make_entry(tag, std::move(making));
}

// A small file's content is written, or will not be: its block is one write nearer its end.
void Sink::give_up_content(File& file) {
    if (!file.content) return;
    const std::uint64_t block = file.content->block;
    file.content.reset();
    write_ended(block);
}

// The disk took the content of all small files of a block: its slot need not wait for the barrier.
void Sink::handle_returned(const ports::DiskEvent& event) {
    const File& last = files_.at(committing_.at(event.tag));
    if (!last.content) return;
    const std::vector<Extent> extents = std::move(*blocks_.at(last.content->block).expected);
    for (const Extent& extent : extents) {
        const auto file = files_.find(extent.file);
        if (file != files_.end()) give_up_content(file->second);
    }
}

void Sink::handle_committed(const ports::DiskEvent& event) {
    const FileNumber number = committing_.extract(event.tag).mapped();
    File& file = files_.at(number);
    file.step = File::Step::creating;  // the disk let go of it
    give_up_content(file);
    if (file.failed) return forget_failed(number);
    if (event.error) return fail(number, *event.error, true);
    if (event.unowned) ++totals_.unowned;
    stream_.put(DoneRecord{number, file.close->digest});
    ++totals_.files_done;
    if (keeps(names_kept_, file.record.name)) names_done_.push_back(file.record.name);
    ++totals_.verified;
    if (!file.record.data.empty()) by_place_.erase(file.record.place);
    end(files_.find(number));
}

void Sink::end(std::map<FileNumber, File>::iterator at) {
    const FileNumber number = at->first;
    const std::optional<FileNumber> directory = at->second.directory;
    unsynced_.erase(number);
    unproved_.erase(number);
    holes_.forget(number);
    ranges_ -= at->second.record.data.size();
    drop_attributes(at->second);
    if (at->second.proof) leaves_unproved_ -= at->second.proof->leaves.size();
    files_.erase(at);
    tree_.file_ended(number, directory);
}

Sink::Totals Sink::totals() const {
    Totals all = totals_;
    all.failed += tree_.totals().failed;
    all.links_done = tree_.totals().links_done;
    all.directories_done = tree_.totals().directories_done;
    all.unowned += tree_.totals().unowned;
    return all;
}

}  // namespace lambda::transfer
