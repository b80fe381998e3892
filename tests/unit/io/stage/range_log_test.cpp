#include "common/io/stage/range_log.h"

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::io;

namespace {
constexpr FileVersion kSource{.size = 10 * MiB, .mtime_ns = -5, .id = 77};

std::string source() {
    return RangeLog::source_line(kSource);
}
std::string claim(std::uint64_t first, std::uint64_t last, std::uint64_t fence) {
    return RangeLog::claim_line({.bytes = {first * MiB, last * MiB}, .fence = fence});
}
std::string done(std::uint64_t first, std::uint64_t last, std::uint64_t fence,
                 std::uint32_t mode = 0640) {
    return RangeLog::done_line({.bytes = {first * MiB, last * MiB}, .fence = fence}, mode);
}
Range bytes(std::uint64_t first, std::uint64_t last) {
    return {first * MiB, last * MiB};
}
}  // namespace

TEST_CASE("a range log gives back what was written into it") {
    const RangeLog log = RangeLog::parse(source() + claim(0, 4, 1) + done(0, 4, 1) +
                                         claim(4, 10, 9) + claim(4, 10, 10) + done(4, 10, 10));
    REQUIRE(log.source());
    CHECK(*log.source() == kSource);
    CHECK(log.done().ranges() == std::vector<Range>{bytes(0, 10)});
    CHECK(log.mode() == 0640);
    CHECK(log.newest_fence(bytes(0, 1)) == 1);
    CHECK(log.newest_fence(bytes(3, 5)) == 10);
}

TEST_CASE("what is claimed again is no longer done, nor are its neighbours undone") {
    const RangeLog log =
        RangeLog::parse(source() + claim(0, 6, 1) + done(0, 6, 1) + claim(2, 4, 2));
    CHECK(log.done().ranges() == std::vector<Range>{bytes(0, 2), bytes(4, 6)});
    CHECK(log.newest_fence(bytes(0, 2)) == 1);
    CHECK(log.newest_fence(bytes(2, 4)) == 2);
    CHECK(log.newest_fence(bytes(4, 6)) == 1);
    CHECK(log.newest_fence(bytes(6, 10)) == 0);
}

TEST_CASE("done is only what its own newest claim did") {
    const std::string begun = source() + claim(0, 4, 5);
    for (const std::string& line : {done(0, 4, 4), done(0, 4, 6), done(0, 3, 5), done(1, 4, 5),
                                    done(0, 5, 5), done(4, 8, 5), claim(2, 6, 6) + done(0, 4, 5)}) {
        INFO(line);
        CHECK(RangeLog::parse(begun + line).done().empty());
    }
}

TEST_CASE("an older claim takes nothing over") {
    const RangeLog log = RangeLog::parse(source() + claim(0, 4, 5) + claim(3, 6, 5) +
                                         claim(0, 4, 2) + done(0, 4, 5));
    CHECK(log.done().ranges() == std::vector<Range>{bytes(0, 4)});
    CHECK(log.newest_fence(bytes(4, 6)) == 0);
}

TEST_CASE("a line that is torn, garbled, or of something else says nothing") {
    const std::string good = source() + claim(0, 4, 1) + done(0, 4, 1);
    REQUIRE_FALSE(RangeLog::parse(good).done().empty());
    for (std::size_t cut = 0; cut < good.size(); ++cut)
        CHECK(RangeLog::parse(good.substr(0, cut)).done().empty());
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        CHECK(RangeLog::parse(bad).done().empty());
    }
    // After a torn line the next begins with a new one.
    CHECK_FALSE(RangeLog::parse(source() + claim(0, 4, 1) + done(0, 4, 1).substr(0, 20) + "\n" +
                                done(0, 4, 1))
                    .done()
                    .empty());
    CHECK(RangeLog::parse(claim(0, 4, 1) + done(0, 4, 1)).done().empty());
    CHECK(RangeLog::parse(source() + claim(8, 11, 1) + done(8, 11, 1)).done().empty());
    CHECK(RangeLog::parse(source() + claim(4, 4, 1) + done(4, 4, 1)).done().empty());
    CHECK_FALSE(RangeLog::parse(std::string(100'000, '\n') + std::string(100'000, ' ')).source());
}
