// A disk that a test asks one thing at a time, and the files it works on.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/io/disk/disk.h"
#include "common/io/reactor.h"
#include "tests/support/catch.h"
#include "tests/unit/io/net/loopback.h"

namespace lambda::io::testing {

using namespace std::chrono_literals;
using ports::DiskEvent;

inline constexpr std::uint32_t kBlock = 1 << 20;
inline constexpr std::uint64_t kGrain = 1 << 20;

struct Harness {
    std::unique_ptr<Reactor> reactor = std::move(Reactor::make().value());
    std::unique_ptr<ports::Disk> disk;
    ports::DiskTag next_tag = 1;

    explicit Harness(bool uring, Root root = Root::machine(), unsigned depth = 64)
        : Harness(uring, std::move(root), depth, {}) {}
    Harness(bool uring, Root root, unsigned depth, DiskOptions options) {
        options.memory_bytes = 8 * kBlock;
        options.block_bytes = kBlock;
        options.queue_depth = depth;
        options.allow_uring = uring;
        disk = std::move(make_disk(options, std::move(root), *reactor).value());
    }

    // Until `enough` of all that came since.
    std::vector<DiskEvent> wait_until(
        const std::function<bool(const std::vector<DiskEvent>&)>& enough) {
        std::vector<DiskEvent> events;
        const Time limit = Clock().now() + 20s;
        disk->submit();
        while (!enough(events) && Clock().now() < limit) {
            for (const DiskEvent& event : disk->poll()) events.push_back(event);
            disk->submit();
            if (!enough(events)) reactor->wait(limit);
        }
        REQUIRE(enough(events));
        return events;
    }
    std::vector<DiskEvent> wait_for(std::size_t count) {
        auto events = wait_until([&](const auto& all) { return all.size() >= count; });
        REQUIRE(events.size() == count);
        return events;
    }
    DiskEvent one() {
        DiskEvent event = wait_for(1)[0];
        CHECK(event.tag == next_tag);
        ++next_tag;
        return event;
    }
    DiskEvent open(const std::string& path, std::uint64_t grain = kGrain) {
        disk->open_source(next_tag, {.path = path}, grain);
        return one();
    }
    DiskEvent create(const std::string& path, std::uint64_t size, ports::Disk::Keep keep = {}) {
        disk->create_target(next_tag, {path, {}}, size, {}, std::move(keep));
        return one();
    }
    DiskEvent write(ports::DiskFile file, std::uint64_t offset, std::size_t bytes,
                    std::size_t at = 0) {
        REQUIRE(disk->write(next_tag, file, offset, 0, at, bytes));
        return one();
    }
    DiskEvent read(ports::DiskFile file, std::uint64_t offset, std::size_t bytes,
                   std::size_t at = 0) {
        REQUIRE(disk->read(next_tag, file, offset, 0, at, bytes));
        return one();
    }
    DiskEvent commit(ports::DiskFile file, const ports::FileMetadata& metadata) {
        disk->commit(next_tag, file, metadata);
        return one();
    }
    // As an engine does: block after block, the rest of a block filled with rubbish.
    DiskEvent put(const std::string& path, const std::string& content, mode_t mode = 0640) {
        const DiskEvent created = create(path, content.size());
        if (created.error) return created;
        for (std::size_t offset = 0; offset < content.size(); offset += kBlock) {
            const std::size_t bytes = std::min<std::size_t>(kBlock, content.size() - offset);
            std::memset(disk->slot(0).data(), 0xaa, kBlock);
            std::memcpy(disk->slot(0).data(), content.data() + offset, bytes);
            const DiskEvent written = write(created.file, offset, bytes);
            if (written.error) {
                disk->close(created.file);
                return written;
            }
            CHECK(written.bytes == bytes);
        }
        return commit(created.file, {content.size(), 1'234'567'890'123'456'789, mode});
    }
    std::string get(const std::string& path) {
        const DiskEvent opened = open(path);
        REQUIRE_FALSE(opened.error);
        if (opened.content) {
            std::string whole(reinterpret_cast<const char*>(opened.content->data()),
                              opened.content->size());
            whole.resize(opened.size);
            return whole;
        }
        std::string content;
        for (std::size_t offset = 0; offset < opened.size; offset += kBlock) {
            const std::size_t bytes = std::min<std::size_t>(kBlock, opened.size - offset);
            const DiskEvent got = read(opened.file, offset, bytes);
            REQUIRE_FALSE(got.error);
            CHECK(got.bytes == bytes);
            content.append(reinterpret_cast<const char*>(disk->slot(0).data()), got.bytes);
        }
        disk->close(opened.file);
        return content;
    }
};

inline std::string random_text(std::size_t bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

inline std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace lambda::io::testing
