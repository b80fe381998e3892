// Runs blocking work on another thread while a coroutine waits on its own executor. That thread
// must be joined before the coroutine's executor goes.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <optional>
#include <type_traits>

#include "common/base/result.h"
#include "common/io/process.h"

namespace lambda::server {

// `hand_over` is given what is to run there. Where `work` wants memory, that is its error if it has
// a Result, and else std::bad_alloc here; it must throw nothing else. What either refers to must
// outlive it: the caller's frame does.
template <typename HandOver, typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> offload(HandOver hand_over, Work work) {
    using Answer = std::invoke_result_t<Work>;
    const auto home = co_await boost::asio::this_coro::executor;
    std::optional<Answer> answer;
    auto start = [&](auto handler) {
        hand_over([&work, &answer, home, handler = std::move(handler),
                   guard = boost::asio::make_work_guard(home)]() mutable {
            try {
                answer.emplace(work());
            } catch (const std::bad_alloc&) {
                // Told where it is waited for.
            }
            boost::asio::post(home, std::move(handler));
        });
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        std::move(start), boost::asio::use_awaitable);
    if (answer) co_return std::move(*answer);
    if constexpr (std::is_constructible_v<Answer, Error>) {
        co_return io::no_memory("it cannot be done now");
    } else {
        throw std::bad_alloc();
    }
}

}  // namespace lambda::server
