// Threads that their owners share: of each so many pieces of work at a time are in the pool, and
// what else he asks for waits behind them. So who asks for much keeps himself waiting, and others
// for no more than these. Work is bounded by the sessions: each has one piece at most. Any thread.
#pragma once

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>

#include "server/offload.h"

namespace lambda::server {

template <typename Owner>
class FairPool {
  public:
    FairPool(std::size_t threads, std::size_t of_each) : of_each_(of_each), pool_(threads) {}

    // As offload().
    template <typename Work>
    boost::asio::awaitable<std::invoke_result_t<Work>> run(Owner owner, Work work) {
        const auto start = [&](auto job) { post(owner, std::move(job)); };
        co_return co_await offload(start, std::move(work));
    }
    // `job` must not throw.
    template <typename Job>
    void post(const Owner& owner, Job job) {
        auto kept = std::make_shared<Job>(std::move(job));
        const std::lock_guard lock(mutex_);
        Jobs& jobs = jobs_[owner];
        jobs.waiting.push([kept = std::move(kept)] { (*kept)(); });
        if (jobs.in_pool == of_each_) return;
        ++jobs.in_pool;
        begin(owner);
    }
    // At the loop's end: waits for the jobs.
    void join() { pool_.join(); }

  private:
    struct Jobs {
        std::queue<std::function<void()>> waiting;
        std::size_t in_pool = 0;
    };

    void begin(const Owner& owner) {
        boost::asio::post(pool_, [this, owner] {
            std::unique_lock lock(mutex_);
            const auto found = jobs_.find(owner);
            auto& waiting = found->second.waiting;
            if (!waiting.empty()) {  // another of his was faster
                auto job = std::move(waiting.front());
                waiting.pop();
                lock.unlock();
                job();
                job = nullptr;
                lock.lock();
            }
            if (!waiting.empty()) return begin(owner);
            if (--found->second.in_pool == 0) jobs_.erase(found);
        });
    }

    const std::size_t of_each_;
    std::mutex mutex_;
    std::map<Owner, Jobs> jobs_;
    boost::asio::thread_pool pool_;
};

}  // namespace lambda::server
