// Runs blocking work on another thread while a coroutine waits on its own executor. That thread
// must be joined before the coroutine's executor goes.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>

namespace lambda::server {

// `hand_over` is given what is to run there. `work` must not throw. What either refers to must
// outlive it: the caller's frame does.
template <typename HandOver, typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> offload(HandOver hand_over, Work work) {
    const auto home = co_await boost::asio::this_coro::executor;
    std::optional<std::invoke_result_t<Work>> answer;
    auto start = [&](auto handler) {
        hand_over([&work, &answer, home, handler = std::move(handler),
                   guard = boost::asio::make_work_guard(home)]() mutable {
            answer.emplace(work());
            boost::asio::post(home, std::move(handler));
        });
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        std::move(start), boost::asio::use_awaitable);
    co_return std::move(*answer);
}

}  // namespace lambda::server
