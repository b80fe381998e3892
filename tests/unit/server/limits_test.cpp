#include <deque>
#include <numeric>
#include <vector>

#include "common/base/units.h"
#include "common/session/terms.h"
#include "server/admission.h"
#include "server/budget.h"
#include "server/command_queue.h"
#include "server/join_book.h"
#include "server/sparse_log.h"
#include "server/stripe_share.h"
#include "tests/support/catch.h"

namespace lambda::server {
namespace {

Address ipv4(unsigned char last) {
    Address address;
    address.ip[10] = address.ip[11] = std::byte{0xff};
    address.ip[12] = std::byte{127};
    address.ip[15] = std::byte{last};
    address.port = 1;
    return address;
}

Address ipv6(unsigned char network, unsigned char host, unsigned char site = 0) {
    Address address;
    address.ip[0] = std::byte{0x20};
    address.ip[5] = std::byte{site};
    address.ip[7] = std::byte{network};
    address.ip[15] = std::byte{host};
    return address;
}

// A stranger until slot.stay().
struct Visitor {
    Visitor(Admission& admission, const Address& from) : slot(admission.admit(from)) {
        if (slot) slot.may_go([this] { slot.release(); });
    }
    Visitor(const Visitor&) = delete;
    Visitor& operator=(const Visitor&) = delete;
    Admission::Slot slot;
};

std::string present(const std::deque<Visitor>& visitors) {
    std::string marks;
    for (const Visitor& each : visitors) marks += each.slot ? '+' : '-';
    return marks;
}

session::Line line(std::string text) {
    return {.text = std::move(text), .fault = session::LineFault::none};
}

}  // namespace

TEST_CASE("a transfer alone has all the stripes it asks for, and many have one each") {
    CHECK(stripe_share(64, 2, 0) == 64);
    CHECK(stripe_share(64, 2, 1) == 16);
    CHECK(stripe_share(64, 2, 7) == 4);
    CHECK(stripe_share(64, 2, 16) == 1);
    CHECK(stripe_share(64, 2, 1000) == 1);
    CHECK(stripe_share(64, 64, 15) == 64);
    CHECK(stripe_share(64, 64, 63) == 16);
    CHECK(stripe_share(2, 64, 1) == 2);
    CHECK(stripe_share(1, 1, 1) == 1);
}

TEST_CASE("connections are counted in all and for each host") {
    Admission admission(3, 2);
    Admission::Slot one = admission.admit(ipv4(1));
    Admission::Slot two = admission.admit(ipv4(1));
    CHECK((one && two));
    CHECK_FALSE(admission.admit(ipv4(1)));
    const Admission::Slot three = admission.admit(ipv4(2));
    CHECK(three);
    CHECK_FALSE(admission.admit(ipv4(3)));
    CHECK(admission.count() == 3);
    two = Admission::Slot();
    CHECK(admission.count() == 2);
    Admission::Slot moved = std::move(one);
    moved.release();
    moved.release();
    CHECK(admission.count() == 1);
    CHECK(admission.admit(ipv4(1)));
}

TEST_CASE("an IPv6 host counts by its /64") {
    Admission admission(9, 1);
    const Admission::Slot one = admission.admit(ipv6(1, 1));
    CHECK(one);
    CHECK_FALSE(admission.admit(ipv6(1, 2)));
    CHECK(admission.admit(ipv6(2, 1)));
}

TEST_CASE("where all places are taken, strangers of the host that has most of them give way") {
    Admission admission(8, 4);
    std::deque<Visitor> visitors;
    for (unsigned char i = 0; i < 8; ++i) visitors.emplace_back(admission, ipv4(1 + i % 2));
    CHECK(present(visitors) == "++++++++");
    visitors.emplace_back(admission, ipv4(1));
    CHECK(present(visitors) == "++++++++-");

    visitors.emplace_back(admission, ipv4(3));
    CHECK(present(visitors) == "++++++-+-+");  // the newest of 1 came before that of 2
    visitors.back().slot.stay();
    for (int i = 0; i < 3; ++i) visitors.emplace_back(admission, ipv4(3));
    CHECK(present(visitors) == "++++-----++++");
    visitors.emplace_back(admission, ipv4(3));
    CHECK(present(visitors) == "++++-----++++-");
    CHECK(admission.count() == 8);
}

TEST_CASE("who has proved that he may be here gives way to nobody") {
    Admission admission(3, 3);
    std::deque<Visitor> visitors;
    for (int i = 0; i < 3; ++i) visitors.emplace_back(admission, ipv4(1));
    visitors[2].slot.stay();
    visitors[0].slot.stay();
    visitors.emplace_back(admission, ipv4(2));
    CHECK(present(visitors) == "+-++");
    visitors[3].slot.stay();
    visitors.emplace_back(admission, ipv4(2));
    visitors.emplace_back(admission, ipv4(3));
    CHECK(present(visitors) == "+-++--");
}

TEST_CASE("a network's strangers are those of all its hosts") {
    Admission admission(4, 4);
    std::deque<Visitor> visitors;
    visitors.emplace_back(admission, ipv4(1));
    for (unsigned char i = 0; i < 3; ++i) visitors.emplace_back(admission, ipv6(i, 1));
    visitors.emplace_back(admission, ipv6(1, 1, 7));
    CHECK(present(visitors) == "+-+++");
    visitors.emplace_back(admission, ipv6(3, 1));  // of the crowded one, but none of its host yet
    CHECK(present(visitors) == "+--+++");
    visitors.emplace_back(admission, ipv6(3, 2));
    CHECK(present(visitors) == "+--+++-");
}

TEST_CASE("what strangers cause is told once a minute for each host, with what was left out") {
    SparseLog words;
    const Time start{std::chrono::hours(1)};
    const auto of = [&](std::size_t host, Time now) {
        Admission::Host name{};
        name[0] = static_cast<std::byte>(host);
        return words.pick(name, "refused", now);
    };
    CHECK(of(1, start) == "refused");
    for (int i = 0; i < 7; ++i) CHECK_FALSE(of(1, start + SparseLog::kPause - Duration{1}));
    CHECK(of(1, start + SparseLog::kPause) == "refused; 7 more of such were left out");
    CHECK(of(2, start + SparseLog::kPause) == "refused");
    for (std::size_t i = 3; i <= SparseLog::kMostHosts; ++i) {
        CHECK(of(i, start + SparseLog::kPause));
    }
    CHECK_FALSE(of(SparseLog::kMostHosts + 1, start + SparseLog::kPause));
    CHECK(of(SparseLog::kMostHosts + 1, start + 2 * SparseLog::kPause) ==
          "refused; 1 more of such were left out");
}

TEST_CASE("a token opens its transfer's stripes, each epoch once and upwards") {
    JoinBook book;
    const std::string token(32, 'a');
    book.add(7, token, 2);
    book.add(8, std::string(32, 'b'), 1);
    CHECK(book.claim({.token = token, .stripe = 1, .epoch = 1}) == 7);
    CHECK_FALSE(book.claim({.token = token, .stripe = 1, .epoch = 1}));
    CHECK(book.claim({.token = token, .stripe = 0, .epoch = 5}) == 7);
    CHECK_FALSE(book.claim({.token = token, .stripe = 0, .epoch = 4}));
    CHECK_FALSE(book.claim({.token = token, .stripe = 2, .epoch = 1}));
    CHECK_FALSE(book.claim({.token = std::string(32, 'c'), .stripe = 0, .epoch = 9}));
    CHECK_FALSE(book.claim({.token = "", .stripe = 0, .epoch = 9}));
    CHECK(book.claim({.token = std::string(32, 'b'), .stripe = 0, .epoch = 1}) == 8);
    book.remove(7);
    CHECK_FALSE(book.claim({.token = token, .stripe = 1, .epoch = 9}));
}

TEST_CASE("memory is divided so that there is some for the next") {
    Budget budget(64 * MiB, 24 * MiB, session::kMinMemory, 1);
    CHECK(budget.take(100 * MiB) == 24 * MiB);
    CHECK(budget.take(100 * MiB) == 20 * MiB);
    CHECK(budget.take(5 * MiB) == 5 * MiB);
    CHECK(budget.take(100 * MiB) == 15 * MiB / 2);
    CHECK(budget.take(100 * MiB) == session::kMinMemory);
    CHECK(budget.take(1) == 0);
    budget.give_back(24 * MiB);
    CHECK(budget.take(1) == session::kMinMemory);
}

TEST_CASE("as many transfers as are promised get memory, however much the first ones ask for") {
    const auto got = [](std::uint64_t all, std::uint64_t transfers) {
        Budget budget(all, 176 * MiB, session::kMinMemory, transfers);
        std::vector<std::uint64_t> taken;
        while (const std::uint64_t memory = budget.take(64 * GiB)) taken.push_back(memory);
        return taken;
    };
    const auto many = got(1 * GiB, 64);
    CHECK(many.size() >= 64);
    CHECK(many.front() == 176 * MiB);
    CHECK(std::accumulate(many.begin(), many.end(), std::uint64_t{0}) <= 1 * GiB);
    // Half of 32 MiB holds four smallest rings.
    CHECK(got(32 * MiB, 64).size() >= 4);
    CHECK(got(32 * MiB, 64).front() == 10 * MiB);
    CHECK(got(session::kMinMemory, 64).size() == 1);

    Budget budget(1 * GiB, 176 * MiB, session::kMinMemory, 64);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::uint64_t> taken;
        for (int i = 0; i < 64; ++i) {
            taken.push_back(budget.take(64 * GiB));
            REQUIRE(taken.back() >= session::kMinMemory);
        }
        for (const std::uint64_t memory : taken) budget.give_back(memory);
    }
}

TEST_CASE("data ports are divided so that there are some for as many as half of them") {
    const auto got = [](std::uint64_t all, std::uint64_t transfers) {
        Budget budget(all, 64, 1, transfers);
        std::vector<std::uint64_t> taken;
        while (const std::uint64_t ports = budget.take(64)) taken.push_back(ports);
        return taken;
    };
    CHECK(got(1, 64) == std::vector<std::uint64_t>{1});
    CHECK(got(4, 64) == std::vector<std::uint64_t>{1, 1, 1, 1});
    CHECK(got(16, 64) == std::vector<std::uint64_t>{4, 3, 2, 1, 1, 1, 1, 1, 1, 1});
    CHECK(got(1001, 64).front() == 64);
    CHECK(got(1001, 64).size() >= 64);
}

TEST_CASE("while something runs only what need not wait is answered, in order") {
    CommandQueue queue;
    for (const char* text : {"PWD", "noop", "STAT", "XFER x"}) queue.push(line(text));
    queue.push({.text = "", .fault = session::LineFault::nul});
    CHECK(queue.next(true)->text == "noop");
    CHECK(queue.next(true)->text == "STAT");
    CHECK_FALSE(queue.next(true).has_value());
    CHECK(queue.next(false)->text == "PWD");
    CHECK(queue.next(false)->text == "XFER x");
    CHECK(queue.next(false)->fault == session::LineFault::nul);
    CHECK_FALSE(queue.next(false).has_value());
    for (std::size_t i = 0; i < kMaxInHand; ++i) {
        CHECK_FALSE(queue.full());
        queue.push(line("NOOP"));
    }
    CHECK(queue.full());
}

}  // namespace lambda::server
