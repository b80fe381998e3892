// What a comparison reads of a file that stands there.
#include "common/io/disk/content_reader.h"
#include "common/io/reactor.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/io/disk/disk_harness.h"

using namespace lambda;
using namespace lambda::io;
using namespace lambda::io::testing;

TEST_CASE("content is read whole, in order") {
    const Folder folder;
    const std::string text(300'000, 'x');
    write_file(folder / "f", text);
    auto reactor = std::move(Reactor::make().value());
    const auto made = ContentReader::make(Root::machine(), *reactor);
    ContentReader& reader = **made;
    std::uint64_t next = 0;
    std::string got;
    reader.read(1, ports::SourceFile{.path = folder / "f"}, 65536,
                [&](Range bytes, ByteView piece) {
                    if (bytes.first == next) next = bytes.last;
                    got.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                });
    reader.read(2, ports::TargetName{folder / "", "none"}, 65536, [](Range, ByteView) {});
    std::vector<ports::ContentRead> ended;
    const Time limit = Clock().now() + 20s;
    while (ended.size() < 2 && Clock().now() < limit) {
        for (auto& each : reader.poll()) ended.push_back(std::move(each));
        if (ended.size() < 2) reactor->wait(limit);
    }
    REQUIRE(ended.size() == 2);
    for (const auto& each : ended) CHECK(each.error.has_value() == (each.tag == 2));
    CHECK(next == text.size());
    CHECK(got == text);
}

TEST_CASE("holes are told and not read") {
    constexpr std::uint64_t size = (std::uint64_t{3} << 40) + 12'345;
    constexpr std::uint64_t data = (std::uint64_t{1} << 40) + 70'000;
    const Folder folder;
    {
        const Descriptor file(::open((folder / "f").c_str(), O_RDWR | O_CREAT, 0600));
        REQUIRE(::ftruncate(file.get(), static_cast<off_t>(size)) == 0);
        REQUIRE(::pwrite(file.get(), "x", 1, static_cast<off_t>(data)) == 1);
        // Where the file system knows no holes this would take hours.
        if (::lseek(file.get(), 0, SEEK_DATA) <= 0) return;
    }
    auto reactor = std::move(Reactor::make().value());
    const auto made = ContentReader::make(Root::machine(), *reactor);
    std::uint64_t next = 0, read = 0, ones = 0;
    bool whole = true;
    (*made)->read(
        1, ports::SourceFile{.path = folder / "f"}, 1 << 20, [&](Range bytes, ByteView piece) {
            whole =
                whole && bytes.first == next && (piece.empty() || piece.size() == bytes.length());
            next = bytes.last;
            read += piece.size();
            ones +=
                static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), std::byte{'x'}));
        });
    std::vector<ports::ContentRead> ended;
    const Time limit = Clock().now() + 20s;
    while (ended.empty() && Clock().now() < limit) {
        ended = (*made)->poll();
        if (ended.empty()) reactor->wait(limit);
    }
    REQUIRE(ended.size() == 1);
    CHECK_FALSE(ended[0].error);
    CHECK(ended[0].size == size);
    CHECK(whole);
    CHECK(next == size);
    CHECK(ones == 1);
    CHECK(read <= 2 << 20);
}

TEST_CASE("content under a lease is read once that is given up") {
    const Folder folder;
    write_file(folder / "f", "content");
    auto reactor = std::move(Reactor::make().value());
    const auto made = ContentReader::make(Root::machine(), *reactor);
    ContentReader& reader = **made;
    for (const ports::ContentReader::Place& place :
         {ports::ContentReader::Place(ports::SourceFile{.path = folder / "f"}),
          ports::ContentReader::Place(ports::SourceFile{
              .path = folder / "f", .follow = false, .named = (folder / "").size()}),
          ports::ContentReader::Place(ports::TargetName{folder / "", "f"})}) {
        const Lease lease(folder / "f");
        reader.try_open(1, place);
        std::vector<ports::ContentRead> ended;
        const Time limit = Clock().now() + 20s;
        while (ended.empty() && Clock().now() < limit) {
            ended = reader.poll();
            if (ended.empty()) reactor->wait(limit);
        }
        REQUIRE(ended.size() == 1);
        CHECK_FALSE(ended[0].error);
    }
}
