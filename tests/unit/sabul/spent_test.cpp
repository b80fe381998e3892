// The SPENT frame: what an end measured of itself, as a list that may grow.
#include <array>

#include "common/sabul/feedback.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;

namespace {

ByteView body_of(const std::vector<std::byte>& frame) {
    return ByteView(frame).subspan(kFrameHeaderBytes);
}

}  // namespace

TEST_CASE("SPENT as docs/protocol.md has it") {
    std::vector<std::byte> frame;
    append_spent(frame, std::array<std::uint64_t, 2>{1, 0x0102030405060708});
    const std::array<unsigned, 21> expected{7, 0, 0, 17, 2, 0, 0, 0, 0, 0, 0,
                                            0, 1, 1, 2,  3, 4, 5, 6, 7, 8};
    REQUIRE(frame.size() == expected.size());
    for (std::size_t i = 0; i < frame.size(); ++i)
        CHECK(std::to_integer<unsigned>(frame[i]) == expected[i]);
}

TEST_CASE("a shorter list leaves zeros, a longer one is cut") {
    std::vector<std::byte> frame;
    append_spent(frame, std::array<std::uint64_t, 3>{5, 6, 7});
    std::array<std::uint64_t, 4> wide{9, 9, 9, 9};
    REQUIRE(parse_spent(body_of(frame), wide));
    CHECK(wide == std::array<std::uint64_t, 4>{5, 6, 7, 0});
    std::array<std::uint64_t, 2> narrow{};
    REQUIRE(parse_spent(body_of(frame), narrow));
    CHECK(narrow == std::array<std::uint64_t, 2>{5, 6});
}

TEST_CASE("SPENT that is cut, too long or lies about its length is refused, and changes nothing") {
    std::array<std::uint64_t, 2> into{1, 2};
    std::vector<std::byte> frame;
    append_spent(frame, std::array<std::uint64_t, 2>{5, 6});
    for (std::size_t bytes = 0; bytes < body_of(frame).size(); ++bytes)
        CHECK_FALSE(parse_spent(body_of(frame).first(bytes), into));
    frame.push_back(std::byte{0});
    CHECK_FALSE(parse_spent(body_of(frame), into));
    std::vector<std::byte> many(1 + 65 * 8);
    many[0] = std::byte{65};
    CHECK_FALSE(parse_spent(many, into));
    CHECK(into == std::array<std::uint64_t, 2>{1, 2});
}
