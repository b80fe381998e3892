// Threads for what blocks on files. Each job has one of its own, so that a file system that does
// not answer holds up those alone who asked it; they are kept for further jobs. Jobs are bounded by
// the sessions: each has one at most. Loop's thread.
#pragma once

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "server/offload.h"

namespace lambda::server {

class FilePool {
  public:
    // As offload().
    template <typename Work>
    boost::asio::awaitable<std::invoke_result_t<Work>> run(Work work) {
        struct Counted {
            explicit Counted(std::size_t& jobs) : count(++jobs) {}
            ~Counted() { --count; }
            std::size_t& count;
        };
        const Counted counted(jobs_);
        if (jobs_ > kFirst + more_.size()) grow();
        const auto start = [this](auto job) { boost::asio::post(pool_, std::move(job)); };
        co_return co_await offload(start, std::move(work));
    }
    // At the loop's end: waits for the jobs.
    void join() {
        pool_.join();
        for (std::thread& thread : more_) thread.join();
    }

  private:
    static constexpr std::size_t kFirst = 4;

    void grow() {
        try {
            more_.emplace_back([this] { pool_.attach(); });
        } catch (const std::system_error&) {
            // As many as the machine allows take the jobs in turn.
        }
    }

    std::size_t jobs_ = 0;
    boost::asio::thread_pool pool_{kFirst};
    std::vector<std::thread> more_;
};

}  // namespace lambda::server
