// Threads that their owners share: of each so many pieces of work at a time are in the pool, and
// what else he asks for waits behind them. So who asks for much keeps himself waiting, and others
// for no more than these. Work is bounded by the sessions: each has one piece at most. Any thread.
#pragma once

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "server/offload.h"

namespace lambda::server {

template <typename Owner>
class FairPool {
  public:
    FairPool(std::size_t threads, std::size_t of_each) : of_each_(of_each), pool_(threads) {}

    // As offload(). `number`: for drop(), which ends the coroutine that waits.
    template <typename Work>
    boost::asio::awaitable<std::invoke_result_t<Work>> run(Owner owner, Work work,
                                                           std::uint64_t* number = nullptr) {
        const auto start = [&](auto job) {
            const std::uint64_t given = post(owner, std::move(job));
            if (number != nullptr) *number = given;
        };
        co_return co_await offload(start, std::move(work));
    }
    // `job` must not throw. Its number, for drop().
    template <typename Job>
    std::uint64_t post(const Owner& owner, Job job) {
        auto kept = std::make_shared<Job>(std::move(job));
        const std::lock_guard lock(mutex_);
        Jobs& jobs = jobs_[owner];
        const std::uint64_t number = ++last_;
        jobs.waiting.emplace(number, [kept = std::move(kept)] { (*kept)(); });
        if (jobs.in_pool == of_each_) return number;
        ++jobs.in_pool;
        begin(owner);
        return number;
    }
    // Takes a job that waits out of the line. False: it has begun.
    bool drop(const Owner& owner, std::uint64_t number) {
        typename Waiting::node_type job;  // goes without the lock
        const std::lock_guard lock(mutex_);
        const auto found = jobs_.find(owner);
        if (found != jobs_.end()) job = found->second.waiting.extract(number);
        return !job.empty();
    }
    // At the loop's end: waits for the jobs.
    void join() { pool_.join(); }

  private:
    using Waiting = std::map<std::uint64_t, std::function<void()>>;  // by number
    struct Jobs {
        Waiting waiting;
        std::size_t in_pool = 0;
    };

    void begin(const Owner& owner) {
        boost::asio::post(pool_, [this, owner] {
            std::unique_lock lock(mutex_);
            const auto found = jobs_.find(owner);
            auto& waiting = found->second.waiting;
            if (!waiting.empty()) {  // another of his was faster, or it was dropped
                auto job = waiting.extract(waiting.begin());
                lock.unlock();
                job.mapped()();
                job = {};
                lock.lock();
            }
            if (!waiting.empty()) return begin(owner);
            if (--found->second.in_pool == 0) jobs_.erase(found);
        });
    }

    const std::size_t of_each_;
    std::mutex mutex_;
    std::map<Owner, Jobs> jobs_;
    std::uint64_t last_ = 0;
    boost::asio::thread_pool pool_;
};

}  // namespace lambda::server
