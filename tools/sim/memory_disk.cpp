#include "tools/sim/memory_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/assert.h"
#include "common/transfer/digest.h"

namespace lambda::simulation {
namespace {

constexpr int kMostRewrites = 3;  // as a real disk

Error disk_error(const std::string& path, int number) {
    return errno_error(Fault::file, "cannot", path, number);
}

}  // namespace

MemoryDisk::MemoryDisk(World& world, Alarm& owner, std::uint32_t slots, std::uint32_t block_bytes)
    : world_(world), owner_(owner), slots_(slots, std::vector<std::byte>(block_bytes)) {}

void MemoryDisk::end_later(std::function<ports::DiskEvent()> action) {
    ++in_flight_;
    const Duration stalled = std::max(stalled_until - world_.now(), Duration{0});
    world_.after(stalled + latency, [this, action = std::move(action)] {
        --in_flight_;
        ended_.push_back(action());
        owner_.set(Time{});
    });
}

void MemoryDisk::open_source(ports::DiskTag tag, const ports::SourceFile& file,
                             std::uint64_t grain) {
    end_later([this, tag, path = file.path, grain] {
        ports::DiskEvent event{.tag = tag};
        const auto at = files.find(path);
        if (at == files.end()) {
            event.error = disk_error(path, ENOENT);
            return event;
        }
        event.size = at->second.bytes.size();
        event.mtime_ns = at->second.mtime_ns;
        event.mode = at->second.mode;
        event.id = at->second.id;
        event.ctime_ns = at->second.ctime_ns;
        if (event.size < ports::kSmallFile) {
            if (on_read) on_read(path, 0);
            const MemoryFile& now = files.at(path);
            if (fail_read.contains(path)) {
                event.error = disk_error(path, EIO);
            } else if (now.bytes.size() != event.size || now.mtime_ns != event.mtime_ns) {
                event.error = Error{.fault = Fault::file,
                                    .message = "the file changed while it was read",
                                    .path = path,
                                    .side = Side::local,
                                    .remedy = {}};
            }
            if (event.error) return event;
            event.content.emplace(now.bytes.begin(), now.bytes.end());
            if (event.size > 0) event.data = {{0, event.size}};
            return event;
        }
        event.in_memory = copies;
        event.file = next_file_++;
        open_[event.file] = {path, false};
        for (std::uint64_t first = 0; first < event.size; first += grain) {
            const std::uint64_t last = std::min(event.size, first + grain);
            const bool hole =
                last - first == grain &&
                std::all_of(at->second.bytes.begin() + static_cast<std::ptrdiff_t>(first),
                            at->second.bytes.begin() + static_cast<std::ptrdiff_t>(last),
                            [](std::byte b) { return b == std::byte{0}; });
            if (hole) continue;
            if (!event.data.empty() && event.data.back().last == first) {
                event.data.back().last = last;
            } else {
                event.data.push_back({first, last});
            }
        }
        return event;
    });
}

bool MemoryDisk::read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                      std::uint32_t slot, std::size_t at, std::size_t bytes) {
    if (in_flight_ >= 64) return false;
    LAMBDA_ASSERT(at + bytes <= slots_[slot].size());
    const auto take = [this, tag, file, offset, slot, at, bytes] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = name_of(file);
        if (on_read) on_read(path, offset);
        if (fail_read.contains(path)) {
            event.error = disk_error(path, EIO);
            return event;
        }
        const auto& content = files.at(path).bytes;
        const std::size_t there =
            content.size() > offset ? std::min(bytes, content.size() - offset) : 0;
        if (there > 0) std::memcpy(slots_[slot].data() + at, content.data() + offset, there);
        event.bytes = there;
        return event;
    };
    if (copies && world_.now() >= stalled_until) {
        ended_.push_back(take());
        owner_.set(Time{});
    } else {
        end_later(take);
    }
    return true;
}

void MemoryDisk::check_source(ports::DiskTag tag, ports::DiskFile file) {
    end_later([this, tag, file] {
        const MemoryFile& now = files.at(open_.at(file).path);
        ports::DiskEvent event{.tag = tag};
        event.size = now.bytes.size();
        event.mtime_ns = now.mtime_ns;
        event.ctime_ns = now.ctime_ns;
        return event;
    });
}

void MemoryDisk::find_partials(ports::DiskTag tag, const std::string& path, bool below) {
    end_later([this, tag, path, below] {
        ports::DiskEvent event{.tag = tag};
        for (const auto& [name, file] : files) {
            event.found = event.found || name == path + ".part" ||
                          (name.starts_with(below ? path : path + "/") && name.ends_with(".part"));
        }
        return event;
    });
}

void MemoryDisk::create_target(ports::DiskTag tag, const ports::TargetName& name, std::uint64_t,
                               std::vector<Range>, Keep keep) {
    end_later([this, tag, path = name.text(), keep = std::move(keep)] {
        ports::DiskEvent event{.tag = tag};
        if (fail_create.contains(path)) {
            event.error = disk_error(path, EACCES);
            return event;
        }
        event.file = next_file_++;
        open_[event.file] = {path, true};
        const auto journal = files.find(path + ".journal");
        if (keep && journal != files.end() && keep(journal->second.bytes)) {
            event.journal = journal->second.bytes;
            return event;
        }
        files.erase(path + ".journal");
        files[path + ".part"] = MemoryFile{};
        return event;
    });
}

bool MemoryDisk::write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                       std::uint32_t slot, std::size_t at, std::size_t bytes) {
    if (in_flight_ >= 64) return false;
    end_later([this, tag, file, offset, slot, at, bytes] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = open_.at(file).path;
        if (full || fail_write.contains(path)) {
            event.error = disk_error(path, ENOSPC);
            return event;
        }
        auto& content = files.at(path + ".part").bytes;
        content.resize(std::max(content.size(), offset + bytes));
        std::memcpy(content.data() + offset, slots_[slot].data() + at, bytes);
        if (on_write) on_write(path, offset, ByteSpan(content).subspan(offset, bytes));
        open_.at(file).unflushed.push_back({offset, offset + bytes});
        event.bytes = bytes;
        return event;
    });
    return true;
}

void MemoryDisk::sync(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                      std::vector<std::byte> image) {
    end_later([this, tag, file, offset, image = std::move(image)] {
        Open& target = open_.at(file);
        target.unflushed.clear();
        auto& journal = files[target.path + ".journal"].bytes;
        journal.resize(std::max<std::size_t>(journal.size(), offset + image.size()));
        std::copy(image.begin(), image.end(),
                  journal.begin() + static_cast<std::ptrdiff_t>(offset));
        return ports::DiskEvent{.tag = tag};
    });
}

void MemoryDisk::flush(ports::DiskTag tag, ports::DiskFile file) {
    end_later([this, tag, file] {
        open_.at(file).unflushed.clear();
        return ports::DiskEvent{.tag = tag};
    });
}

void MemoryDisk::commit(ports::DiskTag tag, ports::DiskFile file,
                        const ports::FileMetadata& metadata) {
    end_later([this, tag, file, metadata] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = open_.at(file).path;
        open_.erase(file);
        auto part = files.extract(path + ".part");
        files.erase(path + ".journal");
        if (fail_commit.contains(path)) {
            event.error = disk_error(path, EROFS);
            return event;
        }
        MemoryFile& done = part.mapped();
        done.bytes.resize(metadata.size);
        done.mtime_ns = metadata.mtime_ns;
        done.mode = metadata.mode;
        files[path] = std::move(done);
        return event;
    });
}

void MemoryDisk::make_entry(ports::DiskTag tag, ports::Making making) {
    end_later([this, tag, making = std::move(making)] {
        const auto slot = slots_[making.slot].begin() + making.at;
        const std::vector<std::byte> content(slot, slot + making.bytes);
        const auto end = [this, tag, making, content] {
            ports::DiskEvent event = made(making, content);
            event.tag = tag;
            return event;
        };
        if (!making.returns) return end();
        end_later(end);
        return ports::DiskEvent{.tag = tag, .returned = true};
    });
}

ports::DiskEvent MemoryDisk::made(const ports::Making& making, ByteView content) {
    using Kind = ports::Making::Kind;
    ports::DiskEvent event;
    const std::string path = making.name.text();
    if (fail_create.contains(path)) {
        event.error = disk_error(path, EACCES);
    } else if (making.kind == Kind::directory || making.kind == Kind::settle) {
        directories[path] = making.metadata;
    } else if (making.bytes > 0 && (full || fail_write.contains(path))) {
        event.error = disk_error(path, ENOSPC);
    } else if (fail_commit.contains(path)) {
        event.error = disk_error(path, EROFS);
    } else if (making.kind == Kind::same) {
        files[path] = files.at(making.first.text());
    } else {
        MemoryFile file;
        for (int left = kMostRewrites; left >= 0; --left) {
            file.bytes.assign(content.begin(), content.end());
            if (on_write) on_write(path, 0, file.bytes);
            if (!making.expected || transfer::leaf_digest(file.bytes) == *making.expected) break;
            if (left > 0) continue;
            event.error = disk_error(path, EIO);
            event.error->fault = Fault::integrity;
            return event;
        }
        file.bytes.resize(making.kind == Kind::file ? making.metadata.size : 0);
        file.mtime_ns = making.metadata.mtime_ns;
        file.mode = making.metadata.mode;
        file.shows = making.text;
        files[path] = std::move(file);
    }
    return event;
}

void MemoryDisk::close(ports::DiskFile file) {
    const auto at = open_.find(file);
    LAMBDA_ASSERT(at != open_.end());
    if (at->second.target) {
        files.erase(at->second.path + ".part");
        files.erase(at->second.path + ".journal");
    }
    open_.erase(at);
}

void MemoryDisk::let_go() {
    while (!open_.empty()) {
        const auto at = open_.begin();
        if (at->second.target && files.contains(at->second.path + ".journal")) {
            open_.erase(at);
        } else {
            close(at->first);
        }
    }
}

void MemoryDisk::lose_power() {
    for (const auto& [number, file] : open_) {
        for (const Range& range : file.unflushed) {
            auto& bytes = files.at(file.path + ".part").bytes;
            for (std::uint64_t at = range.first; at < range.last; at += 4096) {
                if (world_.chance(0.5)) continue;
                std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            std::min<std::uint64_t>(4096, range.last - at), std::byte{0});
            }
        }
    }
    let_go();
}

std::string MemoryDisk::name_of(ports::DiskFile file) const {
    const Open& open = open_.at(file);
    return open.target ? open.path + ".part" : open.path;
}

std::span<ports::DiskEvent> MemoryDisk::poll() {
    given_ = std::move(ended_);
    ended_.clear();
    return given_;
}

}  // namespace lambda::simulation
