// Where offers end that a sender of ours would never make.
#include "common/transfer/comparison.h"
#include "tests/support/catch.h"
#include "tests/unit/transfer/offers.h"

using namespace lambda;
using namespace lambda::transfer;
using namespace lambda::transfer::testing;

namespace {

// A receiver whose tree never answers.
struct Waiting {
    ToldTree tree;
    StreamSender stream;
    const Target target{"to", true};
    Comparison comparison{
        {&tree, nullptr}, stream, target, nullptr, [](const std::string&, const Error&) {}};

    Waiting() {
        tree.answers = false;
        REQUIRE(comparison.set_plan({.whole = true}));
        OfferRecord itself;
        itself.kind = OfferRecord::Kind::directory;
        itself.leaf = ".";
        REQUIRE(comparison.handle(itself));
    }
};

}  // namespace

TEST_CASE("hostile sender: offers have an end in bytes") {
    Waiting waiting;
    OfferRecord large;
    large.leaf = "f";
    large.metadata.archived.emplace().extended.push_back({"user.x", std::string(190'000, 'x')});
    std::size_t taken = 0;
    while (taken < 10'000 && waiting.comparison.handle(large)) {
        ++taken;
        waiting.comparison.turn(false);
    }
    CHECK(taken <= kMostOfferedBytes / 190'000 + 1);
}

// The answers are never sent, so the file is compared for good.
TEST_CASE("hostile sender: further names of a file that is compared have an end") {
    ToldTree tree;
    ToldReader reader;
    StreamSender stream;
    const Target target{"to", true};
    Comparison comparison{
        {&tree, &reader}, stream, target, nullptr, [](const std::string&, const Error&) {}};
    REQUIRE(comparison.set_plan({.whole = true, .checksum = true}));
    OfferRecord itself, file, further;
    itself.kind = OfferRecord::Kind::directory;
    itself.leaf = ".";
    file.further = 1;
    file.metadata = {4, 5, 0644};
    file.leaf = "a";
    further.kind = OfferRecord::Kind::same;
    further.leaf = "b";
    further.text = "a";
    tree.standing["."] = {.kind = StandingKind::directory, .metadata = {0, 5, 0755}};
    tree.standing["a"] = tree.standing["b"] = file_of(4, 5);
    tree.standing["b"].is_first = true;
    REQUIRE(comparison.handle(itself));
    REQUIRE(comparison.handle(file));
    std::size_t taken = 0;
    while (taken < 4 * kMostOffered && comparison.handle(further)) {
        ++taken;
        comparison.turn(false);
    }
    CHECK(taken < 2 * kMostOffered);
    CHECK(taken > kMostOffered);
}

TEST_CASE("hostile sender: what has no verdict is held back") {
    for (const std::size_t length : {std::size_t{1}, std::size_t{255}}) {
        Waiting waiting;
        OfferRecord directory, pipe;
        directory.kind = OfferRecord::Kind::directory;
        directory.leaf = std::string(length, 'd');
        for (int depth = 0; depth < 15; ++depth) REQUIRE(waiting.comparison.handle(directory));
        pipe.kind = OfferRecord::Kind::skipped;
        pipe.leaf = std::string(length, 'p');
        std::size_t taken = 0;
        while (taken < 100'000 && waiting.comparison.has_room()) {
            REQUIRE(waiting.comparison.handle(pipe));
            ++taken;
            waiting.comparison.turn(false);
        }
        const std::size_t name = 16 * (length + 1) - 1;
        CHECK(taken <=
              std::min(kMostOffered, kMostOfferedBytes / name) + 5 * Comparison::kMostLooks);
    }
}

TEST_CASE("hostile sender: directories within each other have an end") {
    Waiting waiting;
    OfferRecord directory;
    directory.kind = OfferRecord::Kind::directory;
    directory.leaf = "d";
    int depth = 0;
    while (depth < 2000 && waiting.comparison.handle(directory)) ++depth;
    CHECK(depth == 511);  // in "."
}
