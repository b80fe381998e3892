// Packets: any header is taken or refused without harm, and a receiver's numbers, acknowledgements
// and gaps hold together whatever order they come in.
#include <cstddef>
#include <cstdint>
#include <set>

#include "common/base/assert.h"
#include "common/sabul/packet.h"
#include "common/sabul/receive_flow.h"

using namespace lambda;
using namespace lambda::sabul;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ReceiveFlow flow({.buffer_bytes = 65536});
    std::set<PacketNumber> accepted, said;
    Time now = Time(std::chrono::seconds(1000));
    ByteView rest = std::as_bytes(std::span(data, size));
    while (!rest.empty()) {
        // A length, then that much of a packet.
        const std::size_t length =
            std::min<std::size_t>(std::to_integer<unsigned>(rest[0]) % 32, rest.size() - 1);
        const ByteView packet = rest.subspan(1, length);
        rest = rest.subspan(1 + length);
        now += std::chrono::microseconds(300);
        const auto header = decode(packet);
        if (!header) {
            LAMBDA_ASSERT(flow.refused() <= size);
            flow.refuse();
            continue;
        }
        std::byte again[kHeaderBytes];
        encode(*header, again);
        LAMBDA_ASSERT(std::equal(again, again + kHeaderBytes, packet.begin()));
        const auto number = flow.check(header->number);
        if (number) {
            LAMBDA_ASSERT(static_cast<std::uint32_t>(*number) == header->number);
            LAMBDA_ASSERT(accepted.insert(*number).second);
            flow.accept(*number, packet.size(), 0, now);
            LAMBDA_ASSERT(!flow.check(header->number));
        }
        for (const Range& range : flow.take_naks(now)) {
            LAMBDA_ASSERT(!range.empty());
            // Said once, and never of what came.
            LAMBDA_ASSERT(said.insert(range.first).second);
            LAMBDA_ASSERT(!accepted.contains(range.first) && !accepted.contains(range.last - 1));
        }
#ifdef LAMBDA_FUZZ_PLANTED
        // The bug: a probe with a number above a thousand.
        LAMBDA_ASSERT(!(header->type == PacketType::probe && header->number > 1000));
#endif
        if (!flow.ack_due(now)) continue;
        const Ack ack = flow.take_ack(now, 1);
        LAMBDA_ASSERT(ack.cumulative <= ack.largest && ack.packets == accepted.size());
    }
    return 0;
}
