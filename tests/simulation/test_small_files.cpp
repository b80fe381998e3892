// Small files on their way: how many go together.
#include "tests/support/catch.h"
#include "tools/sim/run.h"

using namespace lambda;
using namespace lambda::simulation;

namespace {

constexpr std::size_t kFiles = 2400;

// Files of these sizes in turn cross a path that takes the longest datagrams.
struct Crossing {
    explicit Crossing(const std::vector<std::size_t>& sizes)
        : run(1, options(), names(), {"dir", true}) {
        for (std::size_t i = 0; i < kFiles; ++i)
            run.source.files[std::to_string(i)] = {random_bytes(sizes[i % sizes.size()], i), 1,
                                                   0644};
        REQUIRE(run.run());
        REQUIRE(run.receiver->outcome().verified == kFiles);
        for (const auto& [name, file] : run.source.files)
            REQUIRE((run.target.files.at("dir/" + name).bytes == file.bytes));
    }
    static Options options() {
        Options made;
        made.terms.stripes = 1;
        made.terms.initial_rate = BitRate{2e9};
        return made;
    }
    static std::vector<transfer::SourceName> names() {
        std::vector<transfer::SourceName> all;
        for (std::size_t i = 0; i < kFiles; ++i)
            all.push_back({std::to_string(i), std::to_string(i)});
        return all;
    }
    const Path::Counters& sent() { return run.options.forward.counters; }
    Run run;
};

}  // namespace

TEST_CASE("small files of one size share bursts") {
    Crossing crossing({10'240});
    CHECK(crossing.sent().sent >= kFiles);
    CHECK(3 * crossing.sent().bursts <= crossing.sent().sent);
}
