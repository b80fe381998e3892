#include "common/transfer/tree_sink.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/extended_limit.h"

namespace lambda::transfer {
TreeSink::TreeSink(ports::Disk& disk, StreamSender& stream, const Target& target,
                   ports::DiskTag& next_tag, OnFailure on_failure)
    : disk_(disk),
      stream_(stream),
      target_(target),
      next_tag_(next_tag),
      on_failure_(std::move(on_failure)) {}

TreeSink::Entry& TreeSink::begin(FileNumber number, Kind kind, const std::string& name,
                                 const ports::FileMetadata& metadata) {
    const std::optional<FileNumber> parent = begin_file();
    Entry& entry = entries_[number];
    entry.kind = kind;
    entry.name = name;
    entry.metadata = metadata;
    entry.parent = parent;
    extended_ += extended_in_hand(metadata.archived);
    return entry;
}

void TreeSink::enter(const DirectoryRecord& record) {
    begin(record.entry, Kind::directory, record.name, record.metadata);
    entered_.push_back(record.entry);
    make(record.entry, ports::Making::Kind::directory);
}

bool TreeSink::leave(const LeaveRecord& record) {
    if (entered_.empty() || entered_.back() != record.entry) return false;
    entered_.pop_back();
    entries_.at(record.entry).left = true;
    maybe_settle(record.entry);
    return true;
}

void TreeSink::link(const LinkRecord& record) {
    begin(record.entry, Kind::link, record.name, record.metadata).text = record.shows;
    make(record.entry, ports::Making::Kind::link);
}

void TreeSink::same(const SameRecord& record, std::optional<FileNumber> first_in_hand) {
    begin(record.entry, Kind::same, record.name, {}).text = record.first;
    if (first_in_hand) {
        waiting_.emplace(*first_in_hand, record.entry);
    } else {
        make_same(record.entry);
    }
}

std::optional<FileNumber> TreeSink::link_in_hand(const std::string& name) const {
    for (const auto& [number, entry] : entries_) {
        if (entry.kind == Kind::link && entry.name == name) return number;
    }
    return std::nullopt;
}

void TreeSink::make_same(FileNumber number) {
    const Entry& entry = entries_.at(number);
    if (!failed_names_.may_hold(entry.text)) return make(number, ports::Making::Kind::same);
    fail(number, Error{.fault = Fault::file,
                       .message = "the file that it is another name of failed",
                       .path = target_.of(entry.name).text(),
                       .side = Side::local,
                       .remedy = {}});
    end(number);
}

void TreeSink::make(FileNumber number, ports::Making::Kind kind) {
    const Entry& entry = entries_.at(number);
    const ports::DiskTag tag = next_tag_++;
    making_.emplace(tag, number);
    ports::Making making{.kind = kind,
                         .name = target_.of(entry.name),
                         .metadata = entry.metadata,
                         .text = entry.text,
                         .replaces = replaces_};
    if (kind == ports::Making::Kind::same) making.first = target_.of(entry.text);
    disk_.make_entry(tag, std::move(making));
}

std::optional<FileNumber> TreeSink::begin_file() {
    if (entered_.empty()) return std::nullopt;
    ++entries_.at(entered_.back()).inside;
    return entered_.back();
}

bool TreeSink::entering(const std::optional<FileNumber>& directory) const {
    return directory && entries_.at(*directory).making;
}

void TreeSink::file_ended(FileNumber number, std::optional<FileNumber> parent) {
    const auto [first, last] = waiting_.equal_range(number);
    std::vector<FileNumber> others;
    for (auto at = first; at != last; ++at) others.push_back(at->second);
    waiting_.erase(first, last);
    for (const FileNumber other : others) make_same(other);
    if (parent) --entries_.at(*parent).inside;
    maybe_settle(parent);
}

void TreeSink::note_failed(const std::string& name) {
    failed_names_.add(name);
}

bool TreeSink::handle(const ports::DiskEvent& event) {
    const auto making = making_.extract(event.tag);
    if (making.empty()) return false;
    made(making.mapped(), event);
    return true;
}

void TreeSink::made(FileNumber number, const ports::DiskEvent& event) {
    Entry& entry = entries_.at(number);
    const bool entering = entry.kind == Kind::directory && entry.making;
    entry.making = false;
    if (event.error) fail(number, *event.error);
    if (event.unowned) ++totals_.unowned;
    if (entering) return maybe_settle(number);
    if (!entry.failed) done(number);
    end(number);
}

// Deepest first: a directory's own metadata when all that lies in it is done. Of those that failed
// as many may be over at once as the peer has put into each other.
void TreeSink::maybe_settle(std::optional<FileNumber> directory) {
    while (directory) {
        const Entry& entry = entries_.at(*directory);
        if (entry.making || !entry.left || entry.inside > 0) return;
        if (!entry.failed) return make(*directory, ports::Making::Kind::settle);
        const std::optional<FileNumber> parent = entry.parent;
        take_off(*directory);
        if (parent) --entries_.at(*parent).inside;
        directory = parent;
    }
}

void TreeSink::fail(FileNumber number, const Error& error) {
    Entry& entry = entries_.at(number);
    entry.failed = true;
    ++totals_.failed;
    drop_attributes(entry);
    note_failed(entry.name);
    stream_.put(RefuseRecord{number, error.fault, error.message, error.remedy});
    on_failure_(entry.name, error);
}

void TreeSink::done(FileNumber number) {
    stream_.put(DoneRecord{number, {}});
    ++(entries_.at(number).kind == Kind::directory ? totals_.directories_done : totals_.links_done);
}

// Nothing will be given them any more.
void TreeSink::drop_attributes(Entry& entry) {
    extended_ -= extended_in_hand(entry.metadata.archived);
    entry.metadata.archived.reset();
}

void TreeSink::end(FileNumber number) {
    const std::optional<FileNumber> parent = entries_.at(number).parent;
    take_off(number);
    file_ended(number, parent);
}

void TreeSink::take_off(FileNumber number) {
    auto node = entries_.extract(number);
    drop_attributes(node.mapped());
}

}  // namespace lambda::transfer
