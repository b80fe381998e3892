// A few threads for calls that block. They take no signals.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lambda::io {

class Workers {
  public:
    // The owner never has more than `most_jobs` jobs posted and not yet begun.
    Workers(unsigned threads, std::size_t most_jobs);
    ~Workers();  // runs what was posted, then ends

    void post(std::function<void()> job);

  private:
    void run();

    const std::size_t most_jobs_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::function<void()>> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace lambda::io
