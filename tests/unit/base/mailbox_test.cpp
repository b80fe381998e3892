#include "common/base/mailbox.h"

#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

using namespace lambda;

TEST_CASE("a mailbox keeps the order and refuses what is too much") {
    Mailbox<std::unique_ptr<int>> mailbox(2);
    CHECK_FALSE(mailbox.take().has_value());
    CHECK(mailbox.put(std::make_unique<int>(1)));
    CHECK(mailbox.put(std::make_unique<int>(2)));
    auto third = std::make_unique<int>(3);
    CHECK_FALSE(mailbox.put(std::move(third)));
    REQUIRE(third);  // it stayed with the caller
    CHECK(**mailbox.take() == 1);
    CHECK(mailbox.put(std::move(third)));
    CHECK(**mailbox.take() == 2);
    CHECK(**mailbox.take() == 3);
    CHECK_FALSE(mailbox.take().has_value());
}

TEST_CASE("threads put, one takes: nothing is lost, each one's order holds") {
    constexpr int kThreads = 4;
    constexpr int kEach = 2000;
    Mailbox<std::pair<int, int>> mailbox(16);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&mailbox, thread] {
            for (int i = 0; i < kEach; ++i) {
                while (!mailbox.put({thread, i})) std::this_thread::yield();
            }
        });
    }
    std::vector<int> next(kThreads, 0);
    bool ordered = true;
    for (int taken = 0; taken < kThreads * kEach;) {
        const auto message = mailbox.take();
        if (!message) {
            std::this_thread::yield();
            continue;
        }
        ++taken;
        ordered = ordered && next[static_cast<std::size_t>(message->first)]++ == message->second;
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(ordered);
    CHECK_FALSE(mailbox.take().has_value());
}
