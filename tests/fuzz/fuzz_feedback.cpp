// Feedback frames: any bytes, in pieces, give frames that hold what their parsers promise, and both
// halves of a flow take them without coming out of order.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/assert.h"
#include "common/sabul/feedback.h"
#include "common/sabul/receive_flow.h"
#include "common/sabul/send_flow.h"

using namespace lambda;
using namespace lambda::sabul;

namespace {

constexpr Time kStart = Time(std::chrono::seconds(1000));

SendFlow busy_flow() {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 64; ++i) {
        flow.record({.place = i * 1440,
                     .bytes = 1440,
                     .wire_bytes = 1472,
                     .type = PacketType::data,
                     .sent = kStart});
    }
    return flow;
}

void check_news(const SendFlow& flow, const FlowNews* news) {
    LAMBDA_ASSERT(flow.open_packets() <= 64);
    if (news == nullptr) return;
    std::uint64_t bytes = 0;
    for (const auto* list : {&news->received, &news->lost}) {
        for (const Range& places : *list) {
            LAMBDA_ASSERT(!places.empty() && places.last <= 64 * 1440);
            bytes += places.length();
        }
    }
    LAMBDA_ASSERT(bytes == (news->received_packets + news->lost_packets) * 1440);
}

void check_frame(const Frame& frame, SendFlow& flow, ReceiveFlow& receiver) {
    std::vector<std::byte> again;
    switch (static_cast<FrameType>(frame.type)) {
        case FrameType::ack:
            if (const auto ack = parse_ack(frame.body)) {
                append_ack(again, *ack);
                LAMBDA_ASSERT(
                    std::ranges::equal(ByteView(again).subspan(kFrameHeaderBytes), frame.body));
                check_news(flow, flow.handle_ack(*ack, kStart + std::chrono::milliseconds(7)));
            }
            break;
        case FrameType::nak:
            if (const auto ranges = parse_nak(frame.body)) {
                append_nak(again, *ranges);
                LAMBDA_ASSERT(
                    std::ranges::equal(ByteView(again).subspan(kFrameHeaderBytes), frame.body));
                check_news(flow, flow.handle_nak(*ranges));
#ifdef LAMBDA_FUZZ_PLANTED
                // The bug: an off-by-one where a range ends with the last number sent.
                for (const Range& range : *ranges) LAMBDA_ASSERT(range.last != 64);
#endif
            }
            break;
        case FrameType::snapshot:
            if (const auto snapshot = parse_snapshot(frame.body))
                check_news(flow, flow.handle_snapshot(*snapshot));
            break;
        case FrameType::stream:
            if (const auto piece = parse_stream(frame.body)) LAMBDA_ASSERT(!piece->bytes.empty());
            break;
        case FrameType::stream_ack:
            static_cast<void>(parse_stream_ack(frame.body));
            break;
        case FrameType::state:
            if (const auto state = parse_state(frame.body)) receiver.handle_state(*state);
            break;
        case FrameType::spent: {
            std::array<std::uint64_t, kMaxSpent> values{};
            if (!parse_spent(frame.body, values)) break;
            append_spent(again,
                         std::span(values).first(std::to_integer<std::size_t>(frame.body[0])));
            LAMBDA_ASSERT(
                std::ranges::equal(ByteView(again).subspan(kFrameHeaderBytes), frame.body));
            break;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    SendFlow flow = busy_flow();
    ReceiveFlow receiver(ReceiveFlowSettings{});
    Framer framer;
    const ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
    const std::size_t step = data[0] + 1u;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        framer.put(bytes.subspan(at, std::min(step, bytes.size() - at)));
        while (const auto frame = framer.next()) {
            LAMBDA_ASSERT(frame->body.size() <= kMaxFrameBytes);
            check_frame(*frame, flow, receiver);
        }
    }
    return 0;
}
