// GRANT, COPY and what a server tells of a copy. The first line is the argument, what follows it
// went ahead, or is the rest of a reply. What is understood survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/assert.h"
#include "common/session/copy.h"
#include "common/session/copy_result.h"
#include "common/session/facts.h"

using namespace lambda;
using namespace lambda::session;

namespace {

constexpr std::size_t kShort = 200;  // what stands in the line itself

void check_grant(std::string_view text, std::string_view ahead) {
    if (const auto token = parse_grant(text)) {
        LAMBDA_ASSERT(*parse_grant(format_grant(*token)) == *token);
    }
    const auto grant = parse_grant_request(text, ahead);
    if (!grant) return;
    LAMBDA_ASSERT(!grant->path.empty() && grant->life <= kLongestGrant);
    LAMBDA_ASSERT(grant->names.size() <= kMaxNames);
    if (!grant->names.empty() && grant->sync.size() > kShort) return;
    LAMBDA_ASSERT(*parse_grant_request(format_grant_request(*grant), ahead_of(*grant)) == *grant);
}

void check_copy(std::string_view text, std::string_view ahead) {
    const auto order = parse_copy_order(text);
    if (order && *order) {
        LAMBDA_ASSERT(**parse_copy_order(format_copy_order(**order)) == **order);
    }
    const auto request = parse_copy_request(text, ahead);
    if (!request) return;
    LAMBDA_ASSERT(!request->path.empty() && !request->there.empty() && request->port > 0);
    LAMBDA_ASSERT(request->names.size() <= kMaxNames);
#ifdef LAMBDA_FUZZ_PLANTED
    // The bug: a copy of what a directory holds, that nobody waits for.
    LAMBDA_ASSERT(!(request->contents && request->detach));
#endif
    if (request->sync.size() > kShort) return;
    if (!request->names.empty() && request->walk.size() > kShort) return;
    const std::string written = format_copy_request(*request);
    const auto again = parse_copy_request(written, ahead_of(*request));
    LAMBDA_ASSERT(again.ok() && format_copy_request(*again) == written);
    LAMBDA_ASSERT(again->names == request->names && again->walk == request->walk);
}

void check_told(std::string_view text) {
    if (const auto status = parse_copy_status(text)) {
        LAMBDA_ASSERT(*parse_copy_status(format_copy_status(*status)) == *status);
    }
    if (const auto change = parse_copy_change(text)) {
        const auto written = format_copy_change(*change);
        LAMBDA_ASSERT(!written || *parse_copy_change(*written) == *change);
    }
}

void check_result(std::string_view text) {
    Reply reply{.code = 226, .lines = {}};
    while (reply.lines.size() < 1000) {
        const std::size_t end = text.find('\n');
        reply.lines.emplace_back(text.substr(0, end));
        if (end == text.npos) break;
        text.remove_prefix(end + 1);
    }
    const auto result = parse_copy_result(reply);
    if (!result) return;
    LAMBDA_ASSERT(result->stripes.size() <= kMaxStripes);
    const auto again = parse_copy_result(format_copy_result(*result));
    LAMBDA_ASSERT(again.ok() && again->bytes == result->bytes && again->unsaid == result->unsaid);
    LAMBDA_ASSERT(again->stripes.size() == result->stripes.size());
    LAMBDA_ASSERT(again->evidence.sender.values() == result->evidence.sender.values());
    LAMBDA_ASSERT(again->cut.has_value() == result->cut.has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::string_view ahead = end == text.npos ? std::string_view() : text.substr(end + 1);
    check_grant(line, ahead);
    check_copy(line, ahead);
    check_told(line);
    check_result(text);
    return 0;
}
