// The session's part in files that are put together from ranges (docs/protocol.md §12): a put's
// claim, and STAGE.
#include "server/offload.h"
#include "server/session.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;
using session::Reply;
using session::StageRequest;

// What another's end mends is told apart from the rest.
Reply refused(const Error& error) {
    if (error.fault == Fault::cut) return {.code = 450, .lines = {error.sentence()}};
    return error_reply(error);
}

Reply done_ranges(const IntervalSet& done) {
    Reply reply{.code = 213, .lines = {"Done"}};
    for (const Range& range : done.ranges()) reply.lines.push_back(session::format_done(range));
    reply.lines.emplace_back("End");
    return reply;
}

Reply perform(const StageRequest& request, const std::string& path, const io::Root& root) {
    switch (request.action) {
        case StageRequest::Action::look: {
            const auto done = io::staged_ranges(root, path, request.stage);
            return done ? done_ranges(*done) : refused(done.error());
        }
        case StageRequest::Action::finish: {
            const auto finished = io::finish_stage(root, path, request.stage);
            return finished ? Reply{.code = 250, .lines = {"It has its name"}}
                            : refused(finished.error());
        }
        case StageRequest::Action::discard: {
            const auto discarded = io::discard_stage(root, path, request.stage);
            return discarded ? Reply{.code = 250, .lines = {"Discarded"}}
                             : refused(discarded.error());
        }
    }
    LAMBDA_ASSERT(false);
}

}  // namespace

asio::awaitable<std::shared_ptr<io::RangeClaim>> Session::claim_range(
    const session::RangeOffer& offer, const std::string& target) {
    const Stage stage{.name = offer.stage, .source = *offer.range.version};
    auto find = [&] {
        return io::claim_key(*root_, target, stage, offer.range.bytes, offer.fence);
    };
    const Result<std::string> key = co_await service_.files.run(user_, find);
    if (!key) {
        reply(refused(key.error()));
        co_return nullptr;
    }
    // Whoever has an older lease of these bytes is gone, or is to be; but a claim that would be
    // refused ends nobody.
    service_.transfers.supersede(*key, offer.range.bytes,
                                 offer.fence > 0 ? offer.fence : UINT64_MAX);
    auto take = [&] {
        return io::claim_range(*root_, target, stage, offer.range.bytes, offer.fence);
    };
    Result<std::shared_ptr<io::RangeClaim>> claim = co_await service_.files.run(user_, take);
    if (!claim) {
        reply(refused(claim.error()));
        co_return nullptr;
    }
    co_return *std::move(claim);
}

asio::awaitable<void> Session::stage(const std::string& argument) {
    const Result<StageRequest> request = session::parse_stage(argument);
    if (!request) {
        reply(501, request.error().sentence());
        co_return;
    }
    const std::string path = resolve(place_.directory, request->path);
    auto work = [&]() -> Result<Reply> { return perform(*request, path, *root_); };
    const auto answer = co_await service_.files.run(user_, work);
    reply(answer ? *answer : refused(answer.error()));
}

}  // namespace lambda::server
