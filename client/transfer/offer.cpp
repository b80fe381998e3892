#include "client/transfer/offer.h"

#include <algorithm>

#include "common/io/cipher/packet_cipher.h"
#include "common/io/cipher/random.h"

namespace lambda::client {
namespace {

// What the process needs beside its rings: code, TLS, sockets' batches, send buffers and the set's
// own state, measured with 64 stripes.
constexpr std::uint64_t kBesideRings = 80 * MiB;
constexpr std::uint64_t kLeastRing = 16 * MiB;
constexpr std::uint64_t kMostRing = 176 * MiB;

std::uint64_t ring_bytes(std::uint64_t memory, std::uint16_t lanes) {
    const std::uint64_t left = memory > kBesideRings ? memory - kBesideRings : 0;
    return std::clamp(left / lanes, kLeastRing, kMostRing);
}

void set_rates(session::Terms& terms, BitRate initial, BitRate limit) {
    if (initial.bits_per_second > 0) terms.initial_rate = initial;
    terms.highest_rate = limit;
    if (limit.bits_per_second > 0) terms.initial_rate = std::min(terms.initial_rate, limit);
}

}  // namespace

std::uint64_t least_memory(std::uint16_t lanes) {
    return kBesideRings + lanes * kLeastRing;
}

session::Terms make_terms(const config::ClientSettings& settings, std::uint16_t lanes) {
    session::Terms terms;
    terms.stripes = settings.stripes;
    terms.payload = settings.payload;
    terms.syn = settings.syn;
    set_rates(terms, settings.initial_rate,
              lower(settings.rate_limit, settings.rate_hours.lowest()));
    terms.window = settings.window;
    terms.block = settings.block_size;
    terms.memory = ring_bytes(settings.memory, lanes);
    terms.protection = settings.protection;
    terms.cipher =
        settings.cipher ? *settings.cipher : static_cast<session::Cipher>(io::fastest_cipher());
    terms.congestion = settings.congestion;
    terms.read_back = settings.read_back;
    return terms;
}

verdict::RingRoom ring_room(const config::ClientSettings& settings, std::uint16_t lanes) {
    const std::uint64_t ring = ring_bytes(settings.memory, lanes);
    return {.wanted = ring, .beyond = ring < kMostRing ? kBesideRings + lanes * ring : 0};
}

session::Offer make_offer(const Plan& plan, const config::ClientSettings& settings,
                          std::uint16_t lanes, BitRate limit, bool moves) {
    session::Offer offer;
    offer.terms = make_terms(settings, lanes);
    set_rates(offer.terms, settings.initial_rate, limit);
    if (moves) offer.terms.highest_rate = BitRate{0};
    offer.terms.direction = plan.direction;
    io::fill_random(offer.nonce);
    const bool putting = plan.direction == session::Direction::put;
    if (putting) {
        offer.several = plan.several;
        offer.path = plan.remote_target;
    }
    // What becomes a file of its own is nothing special to who receives it; and of what a get puts
    // on a stage, the server knows nothing.
    if (plan.range && (!putting || !plan.range->stage.empty())) {
        offer.range = {.range = plan.range->range, .stage = {}, .fence = 0};
        if (putting) {
            offer.range->stage = plan.range->stage;
            offer.range->fence = plan.range->fence;
        }
    }
    return offer;
}

}  // namespace lambda::client
