// Runs blocking work on a pool of threads while a coroutine waits on its own executor. The pool
// must be joined before the coroutine's executor goes.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <type_traits>

namespace lambda::server {

// `work` must not throw. What it refers to must outlive it: the caller's frame does.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> offload(boost::asio::thread_pool& pool,
                                                           Work work) {
    const auto home = co_await boost::asio::this_coro::executor;
    std::optional<std::invoke_result_t<Work>> answer;
    auto start = [&](auto handler) {
        boost::asio::post(pool, [&work, &answer, home, handler = std::move(handler),
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
