// A limit that changes while a transfer runs.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMiB = 1u << 20;

std::uint64_t bytes_by(Run& run) {
    return run.receiver->progress().bytes;
}

}  // namespace

TEST_CASE("a sender keeps the limit that it is given in mid-transfer, up and down") {
    const std::string law = GENERATE("sabul", "cubic", "fixed");
    const auto direction = GENERATE(session::Direction::put, session::Direction::get);
    INFO(law << ", " << to_string(direction));
    Options options;
    options.terms.direction = direction;
    options.terms.congestion = law;
    options.terms.initial_rate = BitRate{100e6};
    options.terms.highest_rate = BitRate{100e6};
    Run run(3, options, {{"big", "big"}}, transfer::Target{"copy", false});
    run.source.files["big"] = {random_bytes(64 * kMiB, 1), 5, 0644};
    std::uint64_t slow_from = 0, slow_to = 0;
    run.world.after(500ms, [&] { run.sender->set_limit(BitRate{16e6}); });
    run.world.after(1s, [&] { slow_from = bytes_by(run); });
    run.world.after(5s, [&] { slow_to = bytes_by(run); });
    run.world.after(5s, [&] { run.sender->set_limit(BitRate{0}); });
    const Time began = run.world.now();
    REQUIRE(run.run());
    CHECK(run.target.files.at("copy").bytes == run.source.files.at("big").bytes);
    // 4 s at 2 MB/s; what stood in queues and unwritten blocks may come too.
    CHECK(slow_to - slow_from <= 8'000'000 + 4 * kMiB);
    CHECK(slow_to - slow_from >= 8'000'000 / 2);
    // The rest, some 50 MB, at that rate would take 25 s.
    CHECK(seconds(run.world.now() - began) < 20);
}
