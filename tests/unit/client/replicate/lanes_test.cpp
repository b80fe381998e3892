#include "client/replicate/lanes.h"

#include <new>

#include "tests/support/catch.h"

namespace lambda::client::replicate {
namespace {

// One whose every piece of work wants more memory than there is.
class Greedy final : public Carrier {
  public:
    Result<Listing> scan() const override { throw std::bad_alloc(); }
    Result<Standings> look(const Load&, const Listing&) const override { throw std::bad_alloc(); }
    Result<Standings> check(const Load&) const override { throw std::bad_alloc(); }
    Result<void> try_path(std::uint32_t, const Entry&) const override { throw std::bad_alloc(); }
    Result<mover::Outcome> carry(const Load&, const Progressed&) const override {
        throw std::bad_alloc();
    }
};

TEST_CASE("a lane's want of memory is an error of what it did") {
    Job job;
    job.lanes = 4;
    const Greedy carrier;
    auto lanes = Lanes::make(job, carrier);
    REQUIRE(lanes.ok());
    Crew& crew = **lanes;
    const auto nothing = std::make_shared<const Listing>();
    for (const auto kind :
         {Work::Kind::scan, Work::Kind::look, Work::Kind::check, Work::Kind::carry})
        crew.start({.kind = kind, .load = {}, .source = nothing});
    std::vector<Done> all;
    while (crew.busy() > 0) {
        crew.wait(crew.now() + std::chrono::seconds(60));
        for (Done& done : crew.take()) all.push_back(std::move(done));
    }
    CHECK(all.size() == 4);
    for (const Done& done : all) {
        const Error why =
            std::visit([](const auto& result) { return result.error(); }, done.result);
        CHECK(why.error_number == ENOMEM);
        CHECK_FALSE(why.remedy.empty());
    }
}

}  // namespace
}  // namespace lambda::client::replicate
