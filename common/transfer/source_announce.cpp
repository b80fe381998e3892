// Source: from what the walker finds to the records that announce it.
#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/extended_limit.h"
#include "common/transfer/journal.h"
#include "common/transfer/source.h"

namespace lambda::transfer {
namespace {

using Kind = ports::Found::Kind;

std::uint64_t total(const std::vector<Range>& ranges) {
    std::uint64_t sum = 0;
    for (const Range& range : ranges) sum += range.length();
    return sum;
}

// Holes have places too: a few files of exabytes may be all that a transfer has room for. What is
// above is for files without holes, and more than those will ever fill.
constexpr std::uint64_t kMostPlaces = INT64_MAX - (std::uint64_t{1} << 50);

Error no_place(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message = "files of so many bytes in all, holes counted, do not fit one transfer",
                 .path = path,
                 .side = Side::local,
                 .remedy = "send this one by itself"};
}

Error too_much_around(const std::string& path) {
    return Error{.fault = Fault::file,
                 .message =
                     "it and the directories that it lies in have more than 8 MiB of "
                     "extended attributes",
                 .path = path,
                 .side = Side::local,
                 .remedy = "send it by itself, or without --archive"};
}

}  // namespace

// Entries from the walker, and opens for the files among them.
void Source::look_ahead() {
    if (ahead_.size() < kFoundAhead / 2) {
        found_.clear();
        walker_.take(found_, kFoundAhead - ahead_.size());
        for (ports::Found& found : found_) ahead_.push_back({.found = std::move(found)});
    }
    for (; ahead_unopened_ < ahead_.size() && opens_pending_ < kOpensAhead; ++ahead_unopened_) {
        Ahead& ahead = ahead_[ahead_unopened_];
        if (ahead.found.kind != Kind::file) continue;
        if (open_files_ + opens_pending_ >= kMostOpen) return;
        const ports::DiskTag tag = next_tag_++;
        opening_.emplace(tag, ahead_first_ + ahead_unopened_);
        ++opens_pending_;
        ahead.step = Ahead::Step::opening;
        disk_.open_source(tag,
                          {.path = ahead.found.path,
                           .follow = ahead.found.follow,
                           .archive = archive_,
                           .named = ahead.found.named,
                           .id = ahead.found.id},
                          kLeafBytes);
    }
}

void Source::handle_opened(ports::DiskEvent&& event) {
    const std::uint64_t entry = opening_.extract(event.tag).mapped();
    Ahead& ahead = ahead_[entry - ahead_first_];
    ahead.opened = std::move(event);
    ahead.step = Ahead::Step::opened;
}

// In the walker's order, as far as there is room.
void Source::announce() {
    const auto room = [this] {
        return stream_.has_room() && in_hand() < kMostInHand && extended_ < kMostExtendedInHand;
    };
    announce_stuck_ = !room();
    while (!ahead_.empty() && !(announce_stuck_ = !room())) {
        if (!announce(ahead_.front())) return;
        ahead_.pop_front();
        ++ahead_first_;
        if (ahead_unopened_ > 0) --ahead_unopened_;
    }
}

// Announced and not done, but for directories that are still entered.
std::size_t Source::in_hand() const {
    const std::size_t all = files_.size() + entries_.size();
    return all - std::min(all, entered_.size());
}

bool Source::announce(Ahead& ahead) {
    ports::Found& found = ahead.found;
    switch (found.kind) {
        case Kind::file:
            return announce_file(ahead);
        case Kind::leave:
            LAMBDA_ASSERT(!entered_.empty());
            stream_.put(LeaveRecord{entered_.back().number});
            entered_extended_ -= entered_.back().extended;
            entered_.pop_back();
            return true;
        case Kind::skipped:
            stream_.put(SkipRecord{found.name, found.text});
            listener_.on_skip({found.name, found.text});
            return true;
        case Kind::failed:
            tell_failed(found.name, found.error);
            return true;
        case Kind::directory:
        case Kind::link:
        case Kind::same:
            announce_entry(found);
            return true;
    }
    return true;
}

void Source::announce_entry(ports::Found& found) {
    const bool directory = found.kind == Kind::directory;
    if (directory &&
        entered_extended_ + extended_in_hand(found.metadata.archived) > kMostExtendedInHand / 2) {
        // It is entered all the same, with what can be said of it.
        tell_failed(found.name, too_much_around(found.path));
        found.metadata.archived.reset();
    }
    const bool carries = directory || found.kind == Kind::link;
    const std::size_t extended = carries ? extended_in_hand(found.metadata.archived) : 0;
    const FileNumber number = next_file_++;
    current_name_ = found.name;
    extended_ += extended;
    if (directory) {
        stream_.put(DirectoryRecord{number, found.metadata, found.name});
        entered_.push_back({number, extended});
        entered_extended_ += extended;
    } else if (found.kind == Kind::link) {
        stream_.put(LinkRecord{number, found.metadata, found.name, found.text});
    } else {
        stream_.put(SameRecord{number, found.name, found.text});
    }
    entries_.emplace(number, Entry{std::move(found.name), directory, extended});
}

void Source::tell_failed(const std::string& name, const Error& error) {
    // A failure is a record of its own: it needs room like any other.
    stream_.put(FailRecord{name, error.fault, error.message, error.remedy});
    listener_.on_failure({name, error});
}

// False: not yet.
bool Source::announce_file(Ahead& ahead) {
    if (ahead.step != Ahead::Step::opened) return false;
    ports::DiskEvent& opened = ahead.opened;
    auto error = opened.error;
    if (!error) error = too_much_extended(opened.archived, ahead.found.path);
    if (!error && !opened.content && !opened.data.empty() && !has_place(opened.size))
        error = no_place(ahead.found.path);
    if (error) {
        --opens_pending_;
        if (!opened.error && !opened.content) disk_.close(opened.file);
        tell_failed(ahead.found.name, *error);
        return true;
    }
    if (!room_for(opened)) return false;
    --opens_pending_;
    File file;
    file.path = std::move(ahead.found.path);
    file.name = std::move(ahead.found.name);
    file.follow = ahead.found.follow;
    file.named = ahead.found.named;
    file.size = opened.size;
    file.mtime_ns = opened.mtime_ns;
    file.ctime_ns = opened.ctime_ns;
    file.in_memory = opened.in_memory;
    file.extended = extended_in_hand(opened.archived);
    extended_ += file.extended;
    file.digest = FileDigest(file.size, strong_);
    opened.content ? lay_small(std::move(file), opened) : lay_large(std::move(file), opened);
    return true;
}

// In the packed block, or for all its ranges.
bool Source::room_for(ports::DiskEvent& opened) {
    if (opened.content) return opened.content->empty() || room_to_pack(opened.size) != nullptr;
    if (packed_) flush_packed();
    if (opened.data.size() > kMaxDataRanges) opened.data = {{0, opened.size}};
    announce_stuck_ = ranges_ + opened.data.size() > kMostRanges;
    return !announce_stuck_;
}

bool Source::has_place(std::uint64_t size) const {
    return size <= kMostPlaces && round_up(next_place_, block_bytes_) <= kMostPlaces - size;
}

// Its content is here, checked: it goes into the packed block, FILE and CLOSE into the stream.
void Source::lay_small(File file, ports::DiskEvent& opened) {
    const Bytes& content = *opened.content;
    if (content.empty()) {
        file.hole = true;
        file.digest.add_zeros(0, file.size);
        file.place = next_place_;
        opened.data.clear();
    } else {
        LAMBDA_ASSERT(content.size() == file.size);
        SendBlock* block = room_to_pack(file.size);
        file.place = next_place_;
        next_place_ += file.size;
        const auto at = static_cast<std::uint32_t>(file.place % block_bytes_);
        const auto bytes = static_cast<std::uint32_t>(file.size);
        const ByteSpan slot = disk_.slot(block->slot).subspan(at, bytes);
        std::copy(content.begin(), content.end(), slot.begin());
        const Digest digest = leaf_digest(slot);
        file.digest.add_leaf(0, digest, slot);
        block->extents.push_back({next_file_, 0, at, bytes});
        block->leaves.push_back({at, at + bytes, digest});
        block->unresolved += bytes;
        opened.data = {{0, file.size}};
        totals_.bytes_known += bytes;
        totals_.bytes_announced += bytes;
    }
    const FileNumber number = next_file_++;
    put_file_record(number, file, opened);
    file.final_digest = file.digest.finish();
    file.closed = true;
    put_close(number, file);
    files_.emplace(number, std::move(file));
}

void Source::put_close(FileNumber number, const File& file) {
    if (strong_) stream_.put(StrongRecord{number, file.digest.finish_strong()});
    stream_.put(CloseRecord{number, file.size, file.mtime_ns, file.final_digest});
}

void Source::lay_large(File file, ports::DiskEvent& opened) {
    file.disk_file = opened.file;
    file.open = true;
    ++open_files_;
    file.data = std::move(opened.data);
    file.ranges = file.data.size();
    ranges_ += file.ranges;
    file.place = round_up(next_place_, block_bytes_);
    next_place_ = file.data.empty() ? file.place : round_up(file.place + file.size, block_bytes_);
    std::uint64_t at = 0;
    for (const Range& range : file.data) {
        file.digest.add_zeros(at, range.first);
        at = range.last;
    }
    if (at < file.size) file.digest.add_zeros(at, file.size);
    file.unread = total(file.data);
    file.hole = file.data.empty();
    file.awaiting = keeps_journal(file.size) && !nothing_kept_ && !file.data.empty();
    totals_.bytes_known += file.unread;
    totals_.bytes_announced += file.unread;
    opened.data = file.data;
    const FileNumber number = next_file_++;
    put_file_record(number, file, opened);
    const auto at_file = files_.emplace(number, std::move(file)).first;
    File& laid = at_file->second;
    holes_.add(number, laid.size, laid.unread, laid.digest);
    to_plan_.push_back(number);
    maybe_check(number, laid);
}

void Source::put_file_record(FileNumber number, const File& file, ports::DiskEvent& opened) {
    stream_.put(FileRecord{.file = number,
                           .place = file.place,
                           .size = file.size,
                           .mtime_ns = file.mtime_ns,
                           .mode = opened.mode,
                           .id = opened.id,
                           .archived = std::move(opened.archived),
                           .name = file.name,
                           .data = std::move(opened.data)});
    ++totals_.files_known;
    current_name_ = file.name;
}

}  // namespace lambda::transfer
