// One file from a memory source to a memory target, and what must be true of it in the end.
#pragma once

#include <cstdlib>

#include "tests/support/catch.h"
#include "tools/sim/run.h"

namespace lambda::simulation {

inline constexpr std::size_t kMiB = 1u << 20;

// LAMBDA_SEED=N repeats a run.
inline std::uint64_t seed() {
    const char* given = std::getenv("LAMBDA_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 20260101;
}

inline Options options(session::Direction direction = session::Direction::put) {
    Options made;
    made.terms.direction = direction;
    made.terms.initial_rate = BitRate{200e6};
    made.terms.highest_rate = BitRate{2e9};
    return made;
}

struct One {
    explicit One(Options given, std::size_t bytes = 8 * kMiB + 12345)
        : run(seed(), std::move(given), {{"data.bin", "data.bin"}}, {"out.bin", false}) {
        run.source.files["data.bin"] = {random_bytes(bytes, seed()), 1234567890123456789, 0640};
    }
    void expect_identical() {
        INFO("seed " << seed());
        const bool ended = run.run();
        const auto& sent = run.sender->outcome();
        const auto& got = run.receiver->outcome();
        for (const auto& f : got.failures) UNSCOPED_INFO("receiver: " << f.error.sentence());
        for (const auto& f : sent.failures) UNSCOPED_INFO("sender: " << f.error.sentence());
        if (sent.cut) UNSCOPED_INFO("sender cut: " << sent.cut->sentence());
        if (got.cut) UNSCOPED_INFO("receiver cut: " << got.cut->sentence());
        REQUIRE(ended);
        REQUIRE_FALSE(sent.cut);
        REQUIRE_FALSE(got.cut);
        REQUIRE(run.target.files.contains("out.bin"));
        const MemoryFile& from = run.source.files["data.bin"];
        const MemoryFile& to = run.target.files["out.bin"];
        REQUIRE((from.bytes == to.bytes));
        REQUIRE(from.mtime_ns == to.mtime_ns);
        REQUIRE(from.mode == to.mode);
        REQUIRE(sent.files == 1);
        REQUIRE(sent.verified == 1);
        REQUIRE(got.verified == 1);
        REQUIRE(run.nonces_reused == 0);
        REQUIRE_FALSE(run.target.files.contains("out.bin.part"));
    }
    Run run;
};

inline constexpr session::Protection kProtections[] = {
    session::Protection::private_, session::Protection::safe, session::Protection::clear};

}  // namespace lambda::simulation
