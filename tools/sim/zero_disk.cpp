#include "tools/sim/zero_disk.h"

#include <utility>

namespace lambda::simulation {

void ZeroDisk::end(ports::DiskEvent event) {
    ended_.push_back(std::move(event));
    owner_.set(world_.now());
}

void ZeroDisk::open_source(ports::DiskTag tag, const ports::SourceFile&, std::uint64_t) {
    ports::DiskEvent event{.tag = tag};
    event.size = file_bytes_;
    event.mode = 0644;
    event.in_memory = true;
    event.data = {{0, file_bytes_}};
    if (file_bytes_ < ports::kSmallFile) event.content.emplace(file_bytes_);
    end(std::move(event));
}

bool ZeroDisk::read(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::uint32_t, std::size_t,
                    std::size_t bytes) {
    ports::DiskEvent event{.tag = tag};
    event.bytes = bytes;
    end(std::move(event));
    return true;
}

void ZeroDisk::check_source(ports::DiskTag tag, ports::DiskFile) {
    ports::DiskEvent event{.tag = tag};
    event.size = file_bytes_;
    end(std::move(event));
}

void ZeroDisk::find_partials(ports::DiskTag tag, const std::string&, bool) {
    end(ports::DiskEvent{.tag = tag});
}

void ZeroDisk::create_target(ports::DiskTag tag, const ports::TargetName&, std::uint64_t,
                             std::vector<Range>, Keep) {
    end(ports::DiskEvent{.tag = tag});
}

void ZeroDisk::sync(ports::DiskTag tag, ports::DiskFile, std::uint64_t, std::vector<std::byte>) {
    end(ports::DiskEvent{.tag = tag});
}

bool ZeroDisk::write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                     std::uint32_t slot, std::size_t at, std::size_t bytes) {
    return read(tag, file, offset, slot, at, bytes);
}

void ZeroDisk::commit(ports::DiskTag tag, ports::DiskFile, const ports::FileMetadata&) {
    end(ports::DiskEvent{.tag = tag});
}

std::span<ports::DiskEvent> ZeroDisk::poll() {
    given_ = std::exchange(ended_, {});
    return given_;
}

}  // namespace lambda::simulation
