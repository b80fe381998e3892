// Who copies what of a file in memory: a reader, or its owner, who takes back what is not begun.
#include "common/io/disk/memory_reader.h"

#include <fcntl.h>

#include <atomic>
#include <cstring>
#include <future>
#include <vector>

#include "common/io/file/root.h"
#include "tests/support/catch.h"
#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

namespace {

constexpr std::size_t kPiece = 1000;

// Copies of piece after piece of a file into memory of its own; piece i of slot i / 4.
struct Pieces {
    const Folder folder{"/dev/shm"};
    const std::string content = random_text(12 * kPiece, 7);
    std::string memory = std::string(content.size(), '\0');
    Descriptor file;

    Pieces() {
        write_file(folder / "file", content);
        file = Descriptor(::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
    }
    MemoryReader::Copy copy(std::uint32_t index) {
        return {.index = index,
                .slot = index / 4,
                .fd = file.get(),
                .memory = reinterpret_cast<std::byte*>(memory.data()) + index * kPiece,
                .length = kPiece,
                .position = index * kPiece};
    }
};

}  // namespace

TEST_CASE("memory reader: what it has not begun is taken back, of other slots first, in order") {
    Pieces pieces;
    std::promise<void> begun, go_on;
    const auto may = go_on.get_future().share();
    std::vector<std::uint32_t> done;  // the reader's, until it has ended
    auto reader = std::move(MemoryReader::start([&](std::uint32_t index, long result) {
                                if (result == static_cast<long>(kPiece)) done.push_back(index);
                                if (index != 0) return;
                                begun.set_value();
                                may.wait();
                            }).value());
    reader->post(pieces.copy(0));
    begun.get_future().wait();
    for (std::uint32_t index = 1; index < 12; ++index) reader->post(pieces.copy(index));
    for (const std::uint32_t expected : {4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 1u, 2u}) {
        const auto taken = reader->take_back();
        REQUIRE(taken);
        CHECK(taken->index == expected);
        CHECK(taken->run() == static_cast<long>(kPiece));
    }
    go_on.set_value();
    const Time limit = Clock().now() + 20s;
    while (reader->take_back() && Clock().now() < limit) continue;
    reader.reset();
    REQUIRE_FALSE(done.empty());
    CHECK(done.front() == 0);
    CHECK(std::memcmp(pieces.memory.data(), pieces.content.data(), 3 * kPiece) == 0);
    CHECK(std::memcmp(pieces.memory.data() + 4 * kPiece, pieces.content.data() + 4 * kPiece,
                      8 * kPiece) == 0);
}

TEST_CASE("memory reader: each piece is copied once, by one of both") {
    Pieces pieces;
    for (int round = 0; round < 200; ++round) {
        std::fill(pieces.memory.begin(), pieces.memory.end(), '\0');
        std::array<std::atomic<int>, 12> copied{};
        auto reader = std::move(MemoryReader::start([&](std::uint32_t index, long result) {
                                    copied[index] += result == static_cast<long>(kPiece) ? 1 : 100;
                                }).value());
        for (std::uint32_t index = 0; index < 12; ++index) reader->post(pieces.copy(index));
        while (const auto taken = reader->take_back()) {
            CHECK(taken->run() == static_cast<long>(kPiece));
            ++copied[taken->index];
        }
        reader.reset();
        for (const auto& each : copied) CHECK(each == 1);
        CHECK(pieces.memory == pieces.content);
    }
}

TEST_CASE("memory reader: an error of the copy is told") {
    Pieces pieces;
    std::promise<long> told;
    auto reader = std::move(
        MemoryReader::start([&](std::uint32_t, long result) { told.set_value(result); }).value());
    MemoryReader::Copy copy = pieces.copy(3);
    copy.fd = -1;
    reader->post(copy);
    CHECK(told.get_future().get() == -EBADF);
}
