// Threads for what blocks on files. Each job has one of its own, so that a file system that does
// not answer holds up those alone who asked it; they are kept for further jobs. What waits for such
// a file system keeps its session's place, so of an owner no more than some may. Loop's thread.
#pragma once

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "server/offload.h"

namespace lambda::server {

class FilePool {
  public:
    using Clock = std::chrono::steady_clock;

    // An owner of whom `most` jobs have waited for `silence` or longer gets no further one.
    explicit FilePool(std::size_t most, Clock::duration silence = std::chrono::seconds(30))
        : most_(most), silence_(silence) {}

    // As offload(), of work with a Result. Fault::cut: the owner has too many that wait.
    template <typename Work>
    boost::asio::awaitable<std::invoke_result_t<Work>> run(std::string owner, Work work) {
        Began& jobs = owners_[owner];
        const Clock::time_point now = Clock::now();
        if (silent(jobs, now) >= most_) co_return unanswered();
        const Counted counted(*this, owner, jobs, now);
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
    using Began = std::multiset<Clock::time_point>;  // an owner's jobs
    struct Counted {
        Counted(FilePool& of, const std::string& whose, Began& his, Clock::time_point now)
            : pool(of), owner(whose), jobs(his), own(jobs.insert(now)) {
            ++pool.jobs_;
        }
        ~Counted() {
            --pool.jobs_;
            jobs.erase(own);
            if (jobs.empty()) pool.owners_.erase(owner);
        }
        FilePool& pool;
        const std::string& owner;
        Began& jobs;
        const Began::iterator own;
    };

    std::size_t silent(const Began& jobs, Clock::time_point now) const {
        const auto end = jobs.upper_bound(now - silence_);
        return static_cast<std::size_t>(std::distance(jobs.begin(), end));
    }
    Error unanswered() const {
        return Error{.fault = Fault::cut,
                     .message = "the file system of this account does not answer: " +
                                std::to_string(most_) + " sessions wait for it",
                     .path = {},
                     .side = Side::local,
                     .remedy = "try again when it does"};
    }
    void grow() {
        try {
            more_.emplace_back([this] { pool_.attach(); });
        } catch (const std::system_error&) {
            // As many as the machine allows take the jobs in turn.
        }
    }

    const std::size_t most_;
    const Clock::duration silence_;
    std::size_t jobs_ = 0;
    std::map<std::string, Began> owners_;
    boost::asio::thread_pool pool_{kFirst};
    std::vector<std::thread> more_;
};

}  // namespace lambda::server
