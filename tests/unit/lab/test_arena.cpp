#include "tools/lab/arena.h"

#include <vector>

#include "tests/support/catch.h"

using namespace lambda::lab;

TEST_CASE("room is what was held behind the last, and comes again when it has gone") {
    auto arena = Arena::make(2 * Arena::kBlockBytes);
    REQUIRE(arena);
    std::byte* const first = arena->room(1000);
    REQUIRE(first != nullptr);
    CHECK(arena->room(1000) == first);  // nothing was held
    arena->hold(1000, 2);
    std::byte* const second = arena->room(1000);
    CHECK(second == first + 1024);
    arena->hold(0, 0);
    CHECK(arena->room(1000) == second);
    arena->release(first, 1);
    CHECK(arena->room(1000) == second);
    arena->release(first, 1);
    CHECK(arena->room(1000) == first);
}

TEST_CASE("a full arena has no room until a block is free again") {
    constexpr std::size_t kPiece = Arena::kBlockBytes / 2;
    auto arena = Arena::make(2 * Arena::kBlockBytes);
    REQUIRE(arena);
    std::vector<std::byte*> pieces;
    while (std::byte* const place = arena->room(kPiece)) {
        arena->hold(kPiece, 1);
        pieces.push_back(place);
    }
    CHECK(pieces.size() == 4);
    arena->release(pieces[0], 1);
    CHECK(arena->room(kPiece) == nullptr);
    arena->release(pieces[1], 1);
    CHECK(arena->room(kPiece) != nullptr);
}
