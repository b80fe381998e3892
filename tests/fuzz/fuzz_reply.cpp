// Replies as a client reads them: any bytes, however they are cut, give the same replies or end in
// the same error, within bounds; and what is understood survives being written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/assert.h"
#include "common/session/reply.h"

using namespace lambda::session;

namespace {

constexpr std::size_t kMost = 20'000;

struct Heard {
    std::vector<Reply> replies;
    bool failed = false;
    bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, std::size_t step) {
    ReplyParser parser(kMost);
    Heard heard;
    while (!bytes.empty()) {
        bytes.remove_prefix(parser.feed(bytes.substr(0, step)));
        auto reply = parser.next();
        if (!reply) {
            heard.failed = true;
            return heard;
        }
        if (*reply) heard.replies.push_back(std::move(**reply));
    }
    return heard;
}

void check(const Reply& reply) {
    LAMBDA_ASSERT(reply.code >= 100 && reply.code <= 599 && !reply.lines.empty());
    std::size_t held = 0;
    bool fits = true;
    for (const std::string& line : reply.lines) {
        held += line.size();
        fits = fits && fits_line("123-" + line);
    }
    LAMBDA_ASSERT(held <= kMost);
    // A line without a code may be as long as one with it, and is then cut.
    if (!fits) return;
    const std::string wire = format_reply(reply);
    LAMBDA_ASSERT((hear(wire, wire.size()) == Heard{.replies = {reply}, .failed = false}));
}

}  // namespace

// The first byte says in how large pieces the rest arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Heard heard = hear(bytes, std::max<std::size_t>(1, bytes.size()));
    LAMBDA_ASSERT(hear(bytes, std::size_t{data[0]} + 1) == heard);
    for (const Reply& reply : heard.replies) {
        check(reply);
#ifdef LAMBDA_FUZZ_PLANTED
        // The bug: a long reply is taken for one of at most three lines.
        LAMBDA_ASSERT(reply.lines.size() <= 3 || reply.code != 250);
#endif
    }
    return 0;
}
