// What is done for each packet or record beside cipher and digest: numbers, gaps and losses, the
// pacer, sets of places, headers and feedback.
#include <benchmark/benchmark.h>

#include <vector>

#include "common/base/interval_set.h"
#include "common/sabul/feedback.h"
#include "common/sabul/pacer.h"
#include "common/sabul/packet.h"
#include "common/sabul/receive_flow.h"
#include "common/sabul/send_flow.h"

namespace {

using namespace lambda;
using namespace lambda::sabul;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Time kStart = Time(std::chrono::hours(1));
constexpr std::uint32_t kText = 1440, kWire = kText + 32;

// A flow from end to end without a path: each packet is recorded, taken, said to be lost (one in
// `every`; 0: none) and acknowledged. For each packet.
void flow_packet(benchmark::State& state) {
    const auto every = static_cast<std::uint64_t>(state.range(0));
    SendFlow sender;
    ReceiveFlow receiver({.buffer_bytes = 4u << 20});
    Time now = kStart;
    std::uint64_t lost = 0;
    for (auto _ : state) {
        now += microseconds(12);
        const PacketNumber number = sender.record({.place = sender.next_number() * kText,
                                                   .bytes = kText,
                                                   .wire_bytes = kWire,
                                                   .sent = now});
        if (every == 0 || number % every != 0) {
            const auto full = receiver.check(static_cast<std::uint32_t>(number));
            receiver.accept(*full, kWire, kText, now);
        }
        if (now < receiver.next_time()) continue;
        if (const auto& naks = receiver.take_naks(now); !naks.empty())
            lost += sender.handle_nak(naks)->lost_packets;
        if (receiver.ack_due(now)) sender.handle_ack(receiver.take_ack(now, 0), now);
    }
    if (every > 0 && state.iterations() > 100'000 && lost == 0)
        state.SkipWithError("no loss was told");
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(flow_packet)->ArgName("lost, one in")->Arg(0)->Arg(1000)->Arg(100)->Arg(10);

// The loss list: places that were lost go in anywhere and leave from the front, so many at a time.
void loss_list(benchmark::State& state) {
    const auto held = static_cast<std::uint64_t>(state.range(0));
    IntervalSet lost;
    std::uint64_t next = 0;
    for (; lost.ranges().size() < held; next += 2 * kText) lost.insert({next, next + kText});
    for (auto _ : state) {
        benchmark::DoNotOptimize(lost.pop_front(kText));
        lost.insert({next, next + kText});
        next += 2 * kText;
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(loss_list)->ArgName("ranges")->Arg(16)->Arg(256)->Arg(4096);

// Places that come in order but for gaps, which are filled a window later.
void interval_set_fill(benchmark::State& state) {
    const auto gaps = static_cast<std::uint64_t>(state.range(0));
    IntervalSet came;
    std::uint64_t next = 0;
    for (auto _ : state) {
        came.insert({next + 1, next + 2});
        if (next >= 2 * gaps) came.insert({next - 2 * gaps, next - 2 * gaps + 1});
        next += 2;
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(interval_set_fill)->ArgName("gaps")->Arg(1)->Arg(64)->Arg(1024);

void pacer_burst(benchmark::State& state) {
    Pacer pacer;
    Time now = kStart;
    pacer.set_rate(now, BitRate{10e9});
    for (auto _ : state) {
        now = std::max(now, pacer.ready_at(now));
        const std::size_t budget = pacer.budget(now, kText);
        pacer.spend(budget);
        pacer.end_turn();
        benchmark::DoNotOptimize(budget);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(pacer_burst);

void header(benchmark::State& state) {
    std::array<std::byte, kHeaderBytes> bytes{};
    Header sent{.flow = 3};
    for (auto _ : state) {
        ++sent.number;
        sent.place += kText;
        encode(sent, bytes.data());
        benchmark::DoNotOptimize(decode(bytes));
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(header);

// Written, framed and read again.
template <typename Write, typename Read>
void record(benchmark::State& state, Write write, Read read) {
    std::vector<std::byte> bytes;
    Framer framer;
    bool ok = true;
    for (auto _ : state) {
        bytes.clear();
        write(bytes);
        framer.put(bytes);
        const auto frame = framer.next();
        ok = ok && frame && read(frame->body);
    }
    if (!ok) state.SkipWithError("a record did not come back");
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void ack_record(benchmark::State& state) {
    Ack ack;
    ack.cumulative = 1'000'000;
    ack.largest = 1'000'800;
    ack.sample_count = kAckSamples;
    for (std::uint32_t i = 0; i < ack.sample_count; ++i)
        ack.samples[i] = {.back = 750 - 50 * i, .time_us = 3'600'000'000u + 600u * i};
    record(
        state, [&](auto& to) { append_ack(to, ack); },
        [&](ByteView body) { return parse_ack(body) == ack; });
}
BENCHMARK(ack_record);

void nak_record(benchmark::State& state) {
    std::vector<Range> ranges;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        const auto first = static_cast<PacketNumber>(1'000'000 + 100 * i);
        ranges.push_back({first, first + 1 + static_cast<PacketNumber>(i % 3)});
    }
    record(
        state, [&](auto& to) { append_nak(to, ranges); },
        [&](ByteView body) { return parse_nak(body) == ranges; });
}
BENCHMARK(nak_record)->ArgName("ranges")->Arg(1)->Arg(100);

}  // namespace
