// What a comparison reads of a file that stands there.
#include "common/io/content_reader.h"

#include "tests/unit/io/disk_harness.h"

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
                [&](std::uint64_t offset, ByteView piece) {
                    if (offset == next) next += piece.size();
                    got.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                });
    reader.read(2, ports::TargetName{folder / "", "none"}, 65536, [](std::uint64_t, ByteView) {});
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
