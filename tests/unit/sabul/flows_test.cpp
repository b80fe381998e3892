#include <random>
#include <set>

#include "common/sabul/receive_flow.h"
#include "common/sabul/send_flow.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

constexpr Time kStart = Time(std::chrono::hours(1));

void send(SendFlow& flow, std::uint64_t place, Time at = kStart) {
    flow.record(
        {.place = place, .bytes = 1000, .wire_bytes = 1032, .type = PacketType::data, .sent = at});
}

Ack ack_of(PacketNumber cumulative, PacketNumber largest) {
    Ack ack;
    ack.cumulative = cumulative;
    ack.largest = largest;
    return ack;
}

}  // namespace

TEST_CASE("full numbers are the nearest to what is expected") {
    CHECK(full_number(5, 0) == 5);
    CHECK(full_number(0xfffffff0, 0x100000005) == 0xfffffff0);
    CHECK(full_number(3, 0xfffffff0) == 0x100000003);
    CHECK(full_number(0x80000001, 0x100000000) == 0x80000001);
    CHECK(full_number(7, 0x7'0000'0000) == 0x7'0000'0007);
}

TEST_CASE("a sender hears of each packet once, received or lost") {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 10; ++i) send(flow, i * 1000);
    const FlowNews* news = flow.handle_nak({{2, 4}});
    REQUIRE(news != nullptr);
    CHECK(news->lost == std::vector<Range>{{2000, 4000}});
    CHECK(news->lost_packets == 2);
    CHECK(news->lowest_lost == 2);
    // Said again, it counts for nothing.
    CHECK(flow.handle_nak({{2, 4}})->lost_packets == 0);
    news = flow.handle_ack(ack_of(6, 6), kStart + 10ms);
    REQUIRE(news != nullptr);
    CHECK(news->received == std::vector<Range>{{0, 2000}, {4000, 6000}});
    CHECK(news->received_packets == 4);
    CHECK(flow.open_packets() == 4);
    CHECK(flow.open_bytes() == 4 * 1032);
    // A receiver that tells of what was never sent is refused.
    CHECK(flow.handle_ack(ack_of(6, 11), kStart + 11ms) == nullptr);
    CHECK(flow.handle_nak({{9, 12}}) == nullptr);
}

TEST_CASE("what an ACK tells of above a gap is open, and under way no more") {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 10; ++i) send(flow, i * 1000);
    CHECK(flow.untold_bytes() == 10 * 1032);
    REQUIRE(flow.handle_ack(ack_of(2, 8), kStart + 10ms) != nullptr);
    CHECK(flow.open_bytes() == 8 * 1032);
    CHECK(flow.untold_bytes() == 2 * 1032);
    // A record that comes late tells nothing more; nor does a NAK of what was told of.
    REQUIRE(flow.handle_ack(ack_of(2, 5), kStart + 11ms) != nullptr);
    REQUIRE(flow.handle_nak({{2, 3}}) != nullptr);
    CHECK(flow.untold_bytes() == 2 * 1032);
    send(flow, 10000);
    CHECK(flow.untold_bytes() == 3 * 1032);
    flow.burn_from(10);
    REQUIRE(flow.handle_ack(ack_of(10, 10), kStart + 12ms) != nullptr);
    CHECK(flow.untold_bytes() == 0);
    send(flow, 11000);
    REQUIRE(flow.handle_snapshot({11, {}}) != nullptr);
    CHECK(flow.untold_bytes() == 1032);
    flow.abandon();
    CHECK(flow.untold_bytes() == 0);
}

TEST_CASE("what becomes of a copy is counted, and says nothing of its places") {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 4; ++i) {
        flow.record({.place = i / 2 * 1000,
                     .bytes = 1000,
                     .wire_bytes = 1032,
                     .type = PacketType::data,
                     .copy = i % 2 == 1,
                     .sent = kStart});
    }
    CHECK(flow.places_from(0) == std::vector<Range>{{0, 2000}});
    const FlowNews* news = flow.handle_nak({{1, 3}});
    CHECK(news->lost_packets == 2);
    CHECK(news->lost == std::vector<Range>{{1000, 2000}});
    news = flow.handle_ack(ack_of(4, 4), kStart + 10ms);
    CHECK(news->received_packets == 2);
    CHECK(news->received_bytes == 2000);
    CHECK(news->received == std::vector<Range>{{0, 1000}});
}

TEST_CASE("numbers that did not leave are burned and never lost") {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 4; ++i) send(flow, i * 1000);
    CHECK(flow.places_from(2) == std::vector<Range>{{2000, 4000}});
    flow.burn_from(2);
    CHECK(flow.open_packets() == 2);
    CHECK(flow.handle_nak({{2, 4}})->lost_packets == 0);
    CHECK(flow.next_number() == 4);
}

TEST_CASE("a snapshot settles every open number below it") {
    SendFlow flow;
    for (std::uint64_t i = 0; i < 12; ++i) send(flow, i * 1000);
    // Number 9 down to 2: received but for 7 and 3; 1 and 0 are beyond the bitmap's reach.
    const std::byte bits[] = {std::byte{0b11011101}};
    const FlowNews* news = flow.handle_snapshot({10, bits});
    REQUIRE(news != nullptr);
    CHECK(news->lost == std::vector<Range>{{0, 2000}, {3000, 4000}, {7000, 8000}});
    CHECK(news->received_packets == 6);
    CHECK(flow.open_packets() == 2);
}

TEST_CASE("the round trip is what passed less what the receiver held") {
    SendFlow flow;
    send(flow, 0, kStart);
    Ack ack = ack_of(1, 1);
    ack.hold_us = 8000;
    REQUIRE(flow.handle_ack(ack, kStart + 58ms) != nullptr);
    CHECK(flow.rtt().smoothed() == 50ms);
}

TEST_CASE("a step of the round trip is followed within eight of them") {
    RttEstimator rtt;
    Time now = kStart;
    for (int i = 0; i < 50; ++i) rtt.add(now += 20ms, 20ms, kStart);
    int rounds = 0;
    while (rtt.smoothed() < 108ms && rounds < 100) {
        rtt.add(now += 30ms, 120ms, kStart);  // four samples a round trip
        ++rounds;
    }
    CHECK(rounds <= 8 * 4);
}

TEST_CASE("a round is a sample of a packet that left after the round before was known") {
    RttEstimator rtt;
    CHECK(rtt.rounds() == 0);
    rtt.add(kStart + 20ms, 20ms, kStart);
    rtt.add(kStart + 30ms, 20ms, kStart + 10ms);
    rtt.add(kStart + 31ms, 10ms, kStart + 11ms);  // the receiver held it
    CHECK(rtt.rounds() == 1);
    rtt.add(kStart + 40ms, 20ms, kStart + 20ms);
    CHECK(rtt.rounds() == 2);
    CHECK(rtt.known());
}

TEST_CASE("a gap is said once, after its tolerance, and a late packet widens it") {
    ReceiveFlow flow({.syn = 10ms, .buffer_bytes = 1u << 20});
    CHECK(flow.told_rtt() == 0ms);
    flow.handle_state({80000, 0});  // 80 ms: a tolerance of 10
    CHECK(flow.told_rtt() == 80ms);
    Time now = kStart;
    flow.accept(0, 1032, 1000, now);
    flow.accept(4, 1032, 1000, now);
    CHECK(flow.take_naks(now + 9ms).empty());
    flow.accept(2, 1032, 1000, now + 1ms);
    CHECK(flow.take_naks(now + 10ms) == std::vector<Range>{{1, 2}, {3, 4}});
    CHECK(flow.take_naks(now + 30ms).empty());
    const Duration before = flow.tolerance();
    CHECK(flow.late() == 0);
    flow.accept(1, 1032, 1000, now + 31ms);
    CHECK(flow.late() == 1);
    CHECK(flow.tolerance() > before);
    CHECK(flow.tolerance() <= 80ms);
    const Ack ack = flow.take_ack(now + 32ms, 7);
    CHECK(ack.cumulative == 5);
    CHECK(ack.largest == 5);
    CHECK(ack.packets == 4);
    CHECK(ack.late == 1);
    CHECK(ack.credit == 7);
}

TEST_CASE("what a snapshot says lost counts as said, and comes late") {
    ReceiveFlow flow({.syn = 10ms, .buffer_bytes = 1u << 20});
    flow.accept(0, 1032, 1000, kStart);
    flow.accept(3, 1032, 1000, kStart);
    std::vector<std::byte> bits;
    flow.take_snapshot(bits);
    CHECK(flow.said_lost() == 2);
    flow.take_snapshot(bits);
    CHECK(flow.said_lost() == 2);
    flow.accept(1, 1032, 1000, kStart + 1ms);
    CHECK(flow.late() == 1);
}

TEST_CASE("a number is taken once, and never from outside the window") {
    ReceiveFlow flow({.first = 100});
    CHECK(flow.check(100) == PacketNumber{100});
    CHECK_FALSE(flow.check(99));
    CHECK_FALSE(flow.check(100 + (1u << 22)));
    flow.accept(100 + 70000, 1032, 1000, kStart);
    CHECK_FALSE(flow.check(100 + 70000));
    CHECK_FALSE(flow.check(100));  // below the replay window
    const auto within = static_cast<std::uint32_t>(100 + 70001 - kReplayWindow);
    CHECK(flow.check(within) == PacketNumber{within});
}

TEST_CASE("gaps that no connection takes are bounded, and what leaves no gap still comes") {
    ReceiveFlow flow({.syn = 10ms});
    PacketNumber next = 0;
    std::size_t taken = 0;
    for (PacketNumber number = 0; number < 400'000; number += 2) {
        if (!flow.check(static_cast<std::uint32_t>(number))) continue;
        flow.accept(number, 1032, 1000, kStart);
        next = number + 1;
        ++taken;
    }
    CHECK(taken == ReceiveFlow::kMaxGaps + 1);
    CHECK(flow.check(static_cast<std::uint32_t>(next)) == next);
    CHECK(flow.check(static_cast<std::uint32_t>(next - 2)) == next - 2);
    CHECK_FALSE(flow.check(static_cast<std::uint32_t>(next + 1)));
    CHECK_FALSE(flow.take_naks(kStart + 1s).empty());
    CHECK(flow.check(static_cast<std::uint32_t>(next + 1)) == next + 1);
}

TEST_CASE("a receiver that leaves one number open cannot have all above it kept") {
    SendFlow flow;
    send(flow, 0);
    PacketNumber settled = 0;
    bool lost = false;
    while (!lost && settled <= SendFlow::kMaxSettledAbove) {
        const std::uint64_t place = 1000 * (1 + settled);
        send(flow, place);
        const PacketNumber number = flow.next_number() - 1;
        const FlowNews* news = flow.handle_nak({{number, number + 1}});
        REQUIRE(news != nullptr);
        ++settled;
        lost = news->lost_packets == 2;
        if (lost) CHECK(news->lost == std::vector<Range>{{place, place + 1000}, {0, 1000}});
        if (lost) CHECK(news->lowest_lost == 0);
    }
    CHECK(lost);
    CHECK(flow.open_packets() == 0);
}

TEST_CASE("a NAK's ranges come back as they were, in few bytes; a malformed one is refused") {
    const auto body_of = [](const std::vector<Range>& ranges) {
        std::vector<std::byte> frame;
        append_nak(frame, ranges);
        frame.erase(frame.begin(), frame.begin() + kFrameHeaderBytes);
        return frame;
    };
    const std::vector<Range> touching{{3, 5}, {5, 6}, {8, 9}};
    CHECK(parse_nak(body_of(touching)) == touching);
    const std::vector<Range> far{{0, 1}, {std::uint64_t{1} << 40, (std::uint64_t{1} << 40) + 70}};
    CHECK(parse_nak(body_of(far)) == far);

    std::vector<Range> many;
    for (std::size_t i = 0; i < kMaxNakRanges; ++i) many.push_back({20 * i, 20 * i + 1});
    std::vector<std::byte> body = body_of(many);
    CHECK(parse_nak(body) == many);
    CHECK(body.size() < 8 + 2 * kMaxNakRanges);
    body.insert(body.end(), {std::byte{1}, std::byte{1}});
    CHECK_FALSE(parse_nak(body));  // one range too many

    const auto parsed = [](const std::vector<unsigned>& behind_first, unsigned first = 3) {
        std::vector<std::byte> raw(8, static_cast<std::byte>(first > 255 ? 0xff : 0));
        raw[7] = static_cast<std::byte>(first);
        for (const unsigned byte : behind_first) raw.push_back(static_cast<std::byte>(byte));
        return parse_nak(raw);
    };
    CHECK(parsed({2}) == std::vector<Range>{{3, 5}});
    CHECK_FALSE(parsed({}));
    CHECK_FALSE(parsed({0}));     // nothing is missing
    CHECK_FALSE(parsed({2, 1}));  // a gap without a range
    CHECK_FALSE(parsed({2, 1, 0}));
    CHECK_FALSE(parsed({2, 0x40}));   // half a number
    CHECK_FALSE(parsed({0x40, 2}));   // a number in more bytes than it needs
    CHECK_FALSE(parsed({2}, 0x1fe));  // beyond the last number
    CHECK_FALSE(parsed({1, 5, 1}, 0x1fc));
    CHECK_FALSE(parse_nak(ByteView(body).first(7)));
}

TEST_CASE("an ACK comes a SYN after the last, and at once after a quarter of the buffer") {
    ReceiveFlow flow({.syn = 10ms, .buffer_bytes = 40000});
    flow.accept(0, 1000, 900, kStart);
    CHECK(flow.ack_due(kStart));  // the first
    flow.take_ack(kStart, 1);
    flow.accept(1, 1000, 900, kStart + 1ms);
    CHECK_FALSE(flow.ack_due(kStart + 9ms));
    CHECK(flow.ack_due(kStart + 11ms));
    for (PacketNumber n = 2; n < 11; ++n) flow.accept(n, 1000, 900, kStart + 2ms);
    CHECK(flow.ack_due(kStart + 2ms));
}

TEST_CASE("of a small buffer long datagrams may fill more, and more of it is told at once") {
    constexpr std::uint32_t kBuffer = 208 * 1024;
    constexpr std::size_t kDatagram = kBuffer / 6;
    CHECK(SocketRoom(kBuffer, kDatagram).usable() == kBuffer * 9 / 8);
    CHECK(SocketRoom(kBuffer, kDatagram).datagram() == kDatagram);
    CHECK(SocketRoom(kBuffer, 8944).usable() == kBuffer * 3 / 4);
    CHECK(SocketRoom(4u << 20, kDatagram).usable() == 3u << 20);
    CHECK(SocketRoom(kBuffer, kDatagram).together(1) == kBuffer * 9 / 8);
    CHECK(SocketRoom(kBuffer, kDatagram).together(3) == kBuffer * 27 / 8);
    CHECK(SocketRoom(kBuffer, kDatagram).together(64) == 768 * 1024);
    CHECK(SocketRoom(900 * 1024, kDatagram).together(64) == 900 * 1024 * 9 / 8);
    CHECK(SocketRoom(kBuffer, 8944).together(64) == kBuffer * 3 / 4);
    CHECK(SocketRoom(4u << 20, kDatagram).together(64) == 3u << 20);
    for (const std::size_t datagram : {std::size_t{8944}, kDatagram}) {
        const std::size_t told = datagram == kDatagram ? kBuffer * 3 / 8 : kBuffer / 4;
        ReceiveFlow flow({.syn = 10ms, .buffer_bytes = kBuffer});
        flow.accept(0, datagram, datagram - 100, kStart);
        flow.take_ack(kStart, 1);
        PacketNumber next = 1;
        for (std::size_t untold = datagram; untold < told; untold += datagram) {
            flow.accept(next++, datagram, datagram - 100, kStart + 1ms);
            CHECK_FALSE(flow.ack_due(kStart + 1ms));
        }
        flow.accept(next++, datagram, datagram - 100, kStart + 1ms);
        CHECK(flow.ack_due(kStart + 1ms));
    }
}

TEST_CASE("the first ACKs come at once, and once a round trip where that is short") {
    const auto [rtt, apart] = GENERATE(std::pair<Duration, Duration>{100ms, 10ms},
                                       std::pair{3ms, 3ms}, std::pair{50us, 1250us});
    CAPTURE(rtt.count());
    ReceiveFlow flow({.syn = 10ms});
    flow.take_ack(kStart, 0);  // of the connection
    flow.accept(0, 1000, 900, kStart + 1ms);
    REQUIRE(flow.ack_due(kStart + 1ms));
    Time last = kStart + 1ms;
    flow.take_ack(last, 0);
    flow.handle_state({static_cast<std::uint32_t>(rtt / 1us), 1});
    PacketNumber next = 1;
    const auto wait = [&] {
        flow.accept(next++, 1000, 900, last);
        const Duration waited = flow.next_time() - last;
        last += waited;
        flow.take_ack(last, 0);
        return waited;
    };
    for (int i = 0; i < 64; ++i) CHECK(wait() == apart);
    for (int i = 0; i < 5; ++i) CHECK(wait() == 10ms);
}

TEST_CASE("an ACK tells arrivals that are spread over its interval, the first and the latest") {
    for (const std::size_t packets : {1u, 2u, 3u, 10u, 100u, 3000u}) {
        CAPTURE(packets);
        ReceiveFlow flow({.syn = 10ms});
        const Duration apart = Duration(10ms) / static_cast<Duration::rep>(packets);
        for (std::size_t i = 0; i < packets; ++i)
            flow.accept(i, 1032, 1000, kStart + static_cast<Duration::rep>(i) * apart);
        const Ack ack = flow.take_ack(kStart + 10ms, 0);
        REQUIRE(ack.sample_count >= std::min<std::size_t>(packets, 12));
        CHECK(ack.samples[0].back == packets - 1);
        CHECK(ack.samples[ack.sample_count - 1].back == 0);
        const Duration most = std::max<Duration>(2 * apart, Duration(10ms) / 8);
        for (std::size_t i = 1; i < ack.sample_count; ++i) {
            CHECK(ack.samples[i].time_us > ack.samples[i - 1].time_us);
            CHECK(std::chrono::microseconds(ack.samples[i].time_us - ack.samples[i - 1].time_us) <=
                  most);
        }
    }
}

TEST_CASE("an ACK tells arrivals in the order of their numbers, whatever their times") {
    // Those that came after a late one alone would read as a path that delays for ever.
    ReceiveFlow flow({.syn = 10ms});
    flow.accept(0, 1032, 1000, kStart + 2ms);
    flow.accept(1, 1032, 1000, kStart + 1ms);
    const Ack ack = flow.take_ack(kStart + 10ms, 0);
    REQUIRE(ack.sample_count == 2);
    CHECK(ack.samples[1].time_us + 1000 == ack.samples[0].time_us);
}

TEST_CASE("sender and receiver agree on every number over a bad path") {
    const std::uint64_t seed = 20260102;
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    SendFlow sender;
    ReceiveFlow receiver({.buffer_bytes = 1u << 20});
    std::set<std::uint64_t> resolved;
    Time now = kStart;
    std::vector<PacketNumber> held;
    for (int step = 0; step < 20000; ++step) {
        now += 100us;
        const std::uint64_t place = static_cast<std::uint64_t>(step) * 1000;
        send(sender, place, now);
        const PacketNumber number = sender.next_number() - 1;
        if (random() % 20 == 0) {
            held.push_back(number);  // reordered
        } else if (random() % 10 != 0) {
            receiver.accept(number, 1032, 1000, now);
        }
        if (!held.empty() && random() % 5 == 0) {
            if (receiver.check(static_cast<std::uint32_t>(held.back())))
                receiver.accept(held.back(), 1032, 1000, now);
            held.pop_back();
        }
        const auto note = [&](const FlowNews* news) {
            REQUIRE(news != nullptr);
            for (const auto* list : {&news->received, &news->lost}) {
                for (const Range& range : *list) {
                    for (std::uint64_t at = range.first; at < range.last; at += 1000) {
                        REQUIRE(resolved.insert(at).second);
                    }
                }
            }
        };
        const auto naks = receiver.take_naks(now);
        if (!naks.empty()) note(sender.handle_nak(naks));
        if (receiver.ack_due(now)) note(sender.handle_ack(receiver.take_ack(now, 0), now + 5ms));
    }
    CHECK(resolved.size() + sender.open_packets() == 20000);
    CHECK(sender.open_packets() < 200);
    CHECK(sender.untold_bytes() <= sender.open_bytes());
    sender.abandon();
    CHECK(sender.untold_bytes() == 0);
}

TEST_CASE("an ACK's samples come back as they were, in few bytes; malformed ones are refused") {
    const auto body_of = [](const Ack& ack) {
        std::vector<std::byte> frame;
        append_ack(frame, ack);
        frame.erase(frame.begin(), frame.begin() + kFrameHeaderBytes);
        return frame;
    };
    Ack ack = ack_of(1000, 1000);
    const std::size_t bare = body_of(ack).size();
    ack.sample_count = kAckSamples;
    for (std::uint32_t i = 0; i < kAckSamples; ++i) {
        const auto before_last = static_cast<std::uint32_t>(kAckSamples) - 1 - i;
        ack.samples[i] = {14 * before_last, kLatestArrivalUs - 1000 * before_last};
    }
    std::vector<std::byte> body = body_of(ack);
    CHECK(parse_ack(body) == ack);
    CHECK(body.size() <= bare + 10 + 3 * (kAckSamples - 1));
    std::swap(ack.samples[3].time_us, ack.samples[4].time_us);  // noise
    CHECK(parse_ack(body_of(ack)) == ack);
    for (std::size_t size = 0; size < body.size(); ++size)
        CHECK_FALSE(parse_ack(ByteView(body).first(size)));
    body[20] = static_cast<std::byte>(kAckSamples + 1);
    CHECK_FALSE(parse_ack(body));

    ack = ack_of(1000, 1000);
    ack.sample_count = 1;
    ack.samples[0] = {999, kLatestArrivalUs};
    CHECK(parse_ack(body_of(ack)) == ack);
    ack.samples[0] = {1000, 5};  // below number 0
    CHECK_FALSE(parse_ack(body_of(ack)));
    ack.samples[0] = {0, kLatestArrivalUs + 1};  // a clock that cannot be
    CHECK_FALSE(parse_ack(body_of(ack)));

    const auto parsed = [&](const std::vector<unsigned>& samples) {
        Ack none = ack_of(1000, 1000);
        std::vector<std::byte> raw = body_of(none);
        raw[20] = static_cast<std::byte>(samples.size() / 2);
        std::vector<std::byte> bytes;
        for (const unsigned byte : samples) bytes.push_back(static_cast<std::byte>(byte));
        raw.insert(raw.begin() + 21, bytes.begin(), bytes.end());
        return parse_ack(raw).has_value();
    };
    CHECK(parsed({5, 10, 5, 9}));         // the later one came first
    CHECK_FALSE(parsed({5, 10, 5, 11}));  // before the clock began
    CHECK_FALSE(parsed({5, 10, 0, 2}));   // the same number twice
    CHECK_FALSE(parsed({5, 10, 6, 2}));   // beyond the largest
}

TEST_CASE("a least value of long ago is forgotten, also where nothing came meanwhile") {
    WindowedMinimum least;
    least.add(kStart, 5);
    least.add(kStart + 9s, 7);
    CHECK(least.get() == 5);
    least.add(kStart + 60s, 9);
    CHECK(least.get() == 9);
}
