// Facts: offers, agreements, tallies and listed entries. What is understood is within its bounds
// and survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/assert.h"
#include "common/session/entry.h"
#include "common/session/facts.h"
#include "common/session/range.h"
#include "common/session/terms.h"

using namespace lambda;
using namespace lambda::session;

namespace {

void check(const Terms& terms) {
    LAMBDA_ASSERT(terms.stripes >= 1 && terms.stripes <= kMaxStripes);
    LAMBDA_ASSERT(terms.payload >= kMinPayload && terms.payload <= kMaxPayload);
    LAMBDA_ASSERT(is_law(terms.congestion));
    LAMBDA_ASSERT(terms.block % MiB == 0 && terms.block >= MiB && terms.block <= 16 * MiB);
    const Limits limits{.stripes = 7,
                        .highest_rate = BitRate{1e9},
                        .memory = 33 * MiB,
                        .laws = {terms.congestion.substr(0, terms.congestion.find(':'))},
                        .allow_safe = true,
                        .allow_clear = false};
    const auto agreed = agree(terms, limits);
    LAMBDA_ASSERT(agreed.ok() == (terms.protection != Protection::clear));
    if (!agreed) return;
    LAMBDA_ASSERT(agreed->stripes <= 7 && agreed->memory <= 33 * MiB);
    LAMBDA_ASSERT(agreed->block >= MiB && agreed->block * kMinRingBlocks <= agreed->memory);
    LAMBDA_ASSERT(*agree(*agreed, limits) == *agreed);
}

void check_range(const RangeOffer& offer, bool put) {
    const auto& [bytes, version] = offer.range;
    LAMBDA_ASSERT(bytes.first < bytes.last && bytes.first <= kMostFileBytes);
    LAMBDA_ASSERT(bytes.last <= kMostFileBytes || bytes.last == kToTheEnd);
    LAMBDA_ASSERT(put == !offer.stage.empty() && (put || offer.fence == 0));
    if (put) LAMBDA_ASSERT(is_stage_name(offer.stage) && fits_stage(bytes, version->size));
}

void check_offer(std::string_view text) {
    const auto offer = parse_offer(text);
    if (!offer) return;
    check(offer->terms);
    const std::string written = format_offer(*offer);
    const auto again = parse_offer(written);
    LAMBDA_ASSERT(again.ok() && again->terms == offer->terms && again->path == offer->path);
    LAMBDA_ASSERT(format_offer(*again) == written && again->range == offer->range);
    if (offer->range) check_range(*offer->range, offer->terms.direction == Direction::put);
#ifdef LAMBDA_FUZZ_PLANTED
    // The bug: a put of several to a path of more than five bytes.
    LAMBDA_ASSERT(!(offer->several && offer->path.size() > 5));
#endif
}

void check_agreement(std::string_view text) {
    const auto agreement = parse_agreement(text);
    if (!agreement) return;
    check(agreement->terms);
    LAMBDA_ASSERT(!agreement->ports.empty() && agreement->ports.size() <= kMaxStripes);
    const std::string written = format_agreement(*agreement);
    const auto again = parse_agreement(written);
    LAMBDA_ASSERT(again.ok() && format_agreement(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto parsed = Facts::parse(text)) {
        const auto again = Facts::parse(parsed->facts.text());
        LAMBDA_ASSERT(again.ok() && again->facts == parsed->facts && !again->rest);
    }
    check_offer(text);
    check_agreement(text);
    if (const auto request = parse_stage(text)) {
        LAMBDA_ASSERT(is_stage_name(request->stage.name) && !request->path.empty());
        LAMBDA_ASSERT(*parse_stage(format_stage(*request)) == *request);
    }
    if (const auto done = parse_done(text)) LAMBDA_ASSERT(parse_done(format_done(*done)) == done);
    if (const auto entry = parse_entry(text)) {
        // A name with a NUL or LF of its own cannot come off a line; percent-encoded ones can.
        LAMBDA_ASSERT(*parse_entry(format_entry(*entry)) == *entry);
    }
    return 0;
}
