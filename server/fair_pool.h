// Threads that their owners share: of each one piece of work at a time is in the pool, and what
// else he asks for waits behind it. So who asks for much keeps himself waiting, and others for one
// piece. Work is bounded by the sessions: each has one piece at most. Any thread.
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
    explicit FairPool(std::size_t threads) : pool_(threads) {}

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
        jobs.push([kept = std::move(kept)] { (*kept)(); });
        if (jobs.size() == 1) begin(owner);
    }
    // At the loop's end: waits for the jobs.
    void join() { pool_.join(); }

  private:
    using Jobs = std::queue<std::function<void()>>;

    void begin(const Owner& owner) {
        boost::asio::post(pool_, [this, owner] {
            std::unique_lock lock(mutex_);
            const auto found = jobs_.find(owner);
            const auto job = std::move(found->second.front());
            lock.unlock();
            job();
            lock.lock();
            found->second.pop();
            if (found->second.empty()) {
                jobs_.erase(found);
            } else {
                begin(owner);
            }
        });
    }

    std::mutex mutex_;
    std::map<Owner, Jobs> jobs_;  // of each the first is in the pool
    boost::asio::thread_pool pool_;
};

}  // namespace lambda::server
