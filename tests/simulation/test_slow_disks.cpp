// A disk that takes minutes over one thing: neither end takes that for a standstill.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr Duration kHang = std::chrono::minutes(5);

void expect_done(Run& run) {
    REQUIRE(run.run());
    CHECK(run.world.now() > Time(std::chrono::hours(1)) + kHang);
    for (const engine::Outcome* outcome : {&run.sender->outcome(), &run.receiver->outcome()}) {
        CHECK_FALSE(outcome->cut);
        CHECK(outcome->files == 1);
    }
}

Options options_of(session::Direction direction, bool read_back = false) {
    Options options;
    options.terms.direction = direction;
    options.terms.initial_rate = BitRate{200e6};
    options.terms.read_back = read_back;
    options.limit = std::chrono::minutes(30);
    return options;
}

}  // namespace

TEST_CASE("a flush that takes minutes is waited for, at both ends") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    const bool read_back = GENERATE(false, true);
    INFO(to_string(direction) << (read_back ? ", read back" : ""));
    Run run(3, options_of(direction, read_back), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(3u << 20, 1), 5, 0644};
    run.target.on_write = [&](const std::string&, std::uint64_t offset, ByteSpan) {
        if (offset == 2u << 20) run.target.stalled_until = run.world.now() + kHang;
    };
    expect_done(run);
}

TEST_CASE("a small file that takes minutes to be made is waited for, at both ends") {
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO(to_string(direction));
    Run run(3, options_of(direction), {{"a", "a"}}, transfer::Target{"b", false});
    run.source.files["a"] = {random_bytes(3000, 1), 5, 0644};
    run.target.stalled_until = run.world.now() + kHang;
    expect_done(run);
}
