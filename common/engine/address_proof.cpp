#include "common/engine/address_proof.h"

#include <algorithm>

namespace lambda::engine {
namespace {

// A number may lie this far above the last: more HELLOs than a client sends in its life.
constexpr sabul::PacketNumber kJump = 1u << 22;
constexpr std::size_t kMaxText = 16;

}  // namespace

bool AddressProof::take(const ports::Arrival& arrival,
                        const std::vector<std::unique_ptr<SendStripe>>& stripes, Time now) {
    const auto header = sabul::decode(arrival.bytes);
    if (!header || header->flow >= stripes.size()) return false;
    const bool hello = header->type == sabul::PacketType::hello;
    if (!hello && header->type != sabul::PacketType::answer) return false;
    SendStripe& stripe = *stripes[header->flow];
    const std::size_t overhead = sabul::kHeaderBytes + stripe.tag_bytes();
    if (arrival.bytes.size() < overhead || arrival.bytes.size() > overhead + kMaxText) return false;
    const sabul::PacketNumber number = sabul::full_number(header->number, stripe.reverse_next);
    if (number < stripe.reverse_next || number - stripe.reverse_next > kJump) return false;
    std::array<std::byte, kMaxText> text{};
    ports::OpenJob job{number, arrival.bytes, text.data(), false};
    stripe.ciphers.reverse->open({&job, 1});
    if (!job.ok) return false;
    stripe.reverse_next = number + 1;
    if (hello) return greet(stripe, arrival.from, now);
    const bool echoed = stripe.challenge && stripe.challenge->to == arrival.from &&
                        arrival.bytes.size() == overhead + kMaxText &&
                        text == stripe.challenge->text;
    if (!echoed) return false;
    stripe.peer = arrival.from;
    stripe.challenge.reset();
    return true;
}

bool AddressProof::greet(SendStripe& stripe, const Address& from, Time now) {
    if (from == stripe.peer) return false;
    if (from.same_host(control_peer_)) {
        stripe.peer = from;
        return true;
    }
    SendStripe::Challenge challenge;
    challenge.to = from;
    fill_random_(challenge.text);
    stripe.challenge = challenge;
    stripe.send_alone(sabul::PacketType::challenge, 0, challenge.text, from, now);
    return false;
}

}  // namespace lambda::engine
