#include "tools/lab/link.h"

#include <vector>

#include "tests/support/catch.h"
#include "tools/lab/timetable.h"

using namespace lambda;
using namespace lambda::lab;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr Time kBegin{std::chrono::seconds(100)};

LinkSpec spec(BitRate rate = BitRate{8e6}, std::uint64_t queue = 1'000'000) {
    LinkSpec spec;
    spec.impairments.rate = rate;
    spec.queue = queue;
    return spec;
}

Link link_of(const LinkSpec& spec, std::vector<Duration> lanes = {milliseconds(10)}) {
    return {kBegin, spec, std::move(lanes), spec.impairments.rate, 1};
}

Packet packet(std::uint16_t index, std::uint8_t lane = 0, std::uint16_t bytes = 1000) {
    return {.burst = nullptr, .index = index, .bytes = bytes, .lane = lane, .to = lane};
}

// Everything that arrives by then, in order.
std::vector<Link::Arrival> all(Link& link, Time until) {
    std::vector<Link::Arrival> arrivals;
    while (const auto arrival = link.take(until)) arrivals.push_back(*arrival);
    return arrivals;
}

std::vector<int> indices(const std::vector<Link::Arrival>& arrivals) {
    std::vector<int> list;
    for (const auto& arrival : arrivals) list.push_back(arrival.packet.index);
    return list;
}

}  // namespace

TEST_CASE("a packet arrives after transmission and delay, not before") {
    Link link = link_of(spec());
    CHECK(link.next_due() == kNever);
    CHECK(link.offer(kBegin, packet(0)) == Fate::queued);
    CHECK(link.offer(kBegin, packet(1)) == Fate::queued);
    CHECK(link.next_due() == kBegin + milliseconds(11));
    CHECK_FALSE(link.take(kBegin + milliseconds(11) - Duration(1)));
    const auto first = link.take(kBegin + milliseconds(11));
    REQUIRE(first);
    CHECK(first->due == kBegin + milliseconds(11));
    CHECK(link.next_due() == kBegin + milliseconds(12));
    // A late look does not move the second.
    const auto second = link.take(kBegin + milliseconds(50));
    REQUIRE(second);
    CHECK(second->due == kBegin + milliseconds(12));
    CHECK(link.next_due() == kNever);
}

TEST_CASE("hosts at different distances: each packet at its time") {
    Link link = link_of(spec(), {milliseconds(20), milliseconds(5)});
    link.offer(kBegin, packet(0, 0));
    link.offer(kBegin, packet(1, 1));
    CHECK(link.next_due() <= kBegin + milliseconds(7));
    CHECK(indices(all(link, kBegin + milliseconds(30))) == std::vector{1, 0});
}

TEST_CASE("the queue drops its tail and counts it") {
    Link link = link_of(spec(BitRate{8e6}, 2500));
    CHECK(link.offer(kBegin, packet(0)) == Fate::queued);
    CHECK(link.offer(kBegin, packet(1)) == Fate::queued);
    CHECK(link.offer(kBegin, packet(2)) == Fate::dropped);
    CHECK(link.offer(kBegin + microseconds(500), packet(3)) == Fate::queued);
    const LinkCounters counters = link.counters(kBegin + milliseconds(3));
    CHECK(counters.offered_packets == 4);
    CHECK(counters.dropped == 1);
    CHECK(counters.passed_packets == 3);
    CHECK(counters.passed_bytes == 3000);
    CHECK(counters.utilisation == Approx(1));
}

TEST_CASE("each flow's bytes are those that passed") {
    Link link = link_of(spec(BitRate{8e6}, 3500));
    const auto of_flow = [](unsigned flow) {
        Packet one = packet(0);
        one.flow = static_cast<std::uint8_t>(flow);
        return one;
    };
    for (const unsigned flow : {2u, 0u, 2u})
        CHECK(link.offer(kBegin, of_flow(flow)) == Fate::queued);
    CHECK(link.offer(kBegin, of_flow(1)) == Fate::dropped);
    using Bytes = std::vector<std::uint64_t>;
    CHECK(link.counters(kBegin + microseconds(500)).flow_bytes.empty());
    CHECK(link.counters(kBegin + milliseconds(2)).flow_bytes == Bytes{1000, 0, 1000});
    CHECK(link.counters(kBegin + milliseconds(3)).flow_bytes == Bytes{1000, 0, 2000});
    link.reset_counters(kBegin + milliseconds(3));
    CHECK(link.counters(kBegin + milliseconds(3)).flow_bytes.empty());
}

TEST_CASE("longer packets than the path takes vanish") {
    LinkSpec short_path = spec();
    short_path.mtu = 1400;
    Link link = link_of(short_path);
    CHECK(link.offer(kBegin, packet(0, 0, 1400)) == Fate::queued);
    CHECK(link.offer(kBegin, packet(1, 0, 1401)) == Fate::too_long);
    CHECK(link.counters(kBegin).too_long == 1);
}

TEST_CASE("all lost, all twice, all held back") {
    LinkSpec bad = spec();
    bad.impairments.loss.rate = 1;
    Link losing = link_of(bad);
    CHECK(losing.offer(kBegin, packet(0)) == Fate::lost);
    CHECK(losing.counters(kBegin).lost == 1);

    bad = spec();
    bad.impairments.duplicate = 1;
    Link doubling = link_of(bad);
    doubling.offer(kBegin, packet(0));
    CHECK(doubling.take(kBegin + milliseconds(11))->packet.twice);

    bad = spec();
    bad.impairments.reorder = {1, milliseconds(3)};
    Link holding = link_of(bad);
    holding.offer(kBegin, packet(0));
    CHECK(holding.take(kBegin + milliseconds(14))->due == kBegin + milliseconds(14));
    CHECK(holding.counters(kBegin + milliseconds(14)).reordered == 1);
}

TEST_CASE("packets that are held back are overtaken, and only they") {
    LinkSpec bad = spec();
    bad.impairments.reorder = {0.2, milliseconds(10)};
    Link link = link_of(bad);
    for (std::uint16_t i = 0; i < 100; ++i) link.offer(kBegin, packet(i));
    const auto arrivals = all(link, kBegin + milliseconds(200));
    REQUIRE(arrivals.size() == 100);
    std::uint64_t late = 0;
    for (const auto& arrival : arrivals) {
        const Duration way = arrival.due - (kBegin + milliseconds(1) * (arrival.packet.index + 1));
        CHECK((way == milliseconds(10) || way == milliseconds(20)));
        late += way == milliseconds(20) ? 1 : 0;
    }
    CHECK(late == link.counters(kBegin + milliseconds(200)).reordered);
    CHECK(late > 5);
    CHECK(late < 40);
}

TEST_CASE("jitter adds up to so much and keeps the order") {
    LinkSpec bad = spec();
    bad.impairments.jitter = milliseconds(5);
    Link link = link_of(bad);
    for (std::uint16_t i = 0; i < 100; ++i) link.offer(kBegin, packet(i));
    const auto arrivals = all(link, kBegin + milliseconds(200));
    REQUIRE(arrivals.size() == 100);
    Duration most{0};
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        CHECK(arrivals[i].packet.index == i);
        const Duration way = arrivals[i].due - (kBegin + milliseconds(1) * (i + 1));
        CHECK(way >= milliseconds(10));
        CHECK(way <= milliseconds(15));
        most = std::max(most, way);
    }
    CHECK(most > milliseconds(13));
}

TEST_CASE("a path that becomes shorter lets later packets overtake") {
    Link link = link_of(spec());
    link.offer(kBegin, packet(0));
    Change change;
    change.delay = milliseconds(30);
    link.apply(kBegin, change);
    CHECK(link.counters(kBegin).delay == milliseconds(30));
    link.offer(kBegin, packet(1));
    // Both get the delay that stands when they leave the queue.
    link.take(kBegin + milliseconds(2));
    change.delay = milliseconds(0);
    link.apply(kBegin + milliseconds(2), change);
    link.offer(kBegin + milliseconds(2), packet(2));
    const auto arrivals = all(link, kBegin + milliseconds(100));
    CHECK(indices(arrivals) == std::vector{2, 0, 1});
    CHECK(link.counters(kBegin + milliseconds(100)).delay == milliseconds(0));
    REQUIRE(arrivals.size() == 3);
    CHECK(arrivals[0].due == kBegin + milliseconds(13));
    CHECK(arrivals[1].due == kBegin + milliseconds(41));
}

TEST_CASE("a dead path swallows what comes, and what was on its way arrives") {
    Link link = link_of(spec());
    link.offer(kBegin, packet(0));
    Change change;
    change.dead = milliseconds(100);
    link.apply(kBegin + milliseconds(2), change);
    CHECK(link.offer(kBegin + milliseconds(2), packet(1)) == Fate::dead);
    CHECK(link.offer(kBegin + milliseconds(102) - Duration(1), packet(2)) == Fate::dead);
    CHECK(link.offer(kBegin + milliseconds(102), packet(3)) == Fate::queued);
    CHECK(indices(all(link, kBegin + milliseconds(200))) == std::vector{0, 3});
    CHECK(link.counters(kBegin + milliseconds(200)).dead == 2);
}

TEST_CASE("counters begin anew, what is under way does not") {
    Link link = link_of(spec());
    link.offer(kBegin, packet(0));
    link.offer(kBegin, packet(1));
    link.reset_counters(kBegin + microseconds(1500));
    const LinkCounters counters = link.counters(kBegin + milliseconds(5));
    CHECK(counters.offered_packets == 0);
    CHECK(counters.passed_packets == 1);
    CHECK(indices(all(link, kBegin + milliseconds(20))) == std::vector{0, 1});
}

TEST_CASE("the timetable hands out each change once, at its time") {
    std::vector<Change> changes(3);
    changes[0].at = milliseconds(5);
    changes[1].at = milliseconds(5);
    changes[1].loss = Loss{0.5, 1};
    changes[2].at = milliseconds(9);
    Timetable timetable(kBegin, changes);
    CHECK(timetable.next_at() == kBegin + milliseconds(5));
    CHECK_FALSE(timetable.take(kBegin + milliseconds(4)));
    CHECK_FALSE(timetable.take(kBegin + milliseconds(20))->change.loss);
    const auto second = timetable.take(kBegin + milliseconds(20));
    REQUIRE(second);
    CHECK(second->change.loss);
    CHECK(second->at == kBegin + milliseconds(5));
    CHECK(timetable.take(kBegin + milliseconds(20))->at == kBegin + milliseconds(9));
    CHECK_FALSE(timetable.take(kBegin + milliseconds(20)));
    CHECK(timetable.next_at() == kNever);
    CHECK(Timetable().next_at() == kNever);
}
