// A few threads for calls that block. They take no signals.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/result.h"

namespace lambda::io {

class Workers {
  public:
    // The owner never has more than `most_jobs` jobs posted and not yet begun. `lost`, on the
    // thread: for want of memory a job ended before its end. Nothing: that ends the process.
    static Result<std::unique_ptr<Workers>> make(unsigned threads, std::size_t most_jobs,
                                                 std::function<void()> lost = {});
    ~Workers();  // runs what was posted, then ends

    void post(std::function<void()> job);

  private:
    Workers(std::size_t most_jobs, std::function<void()> lost)
        : most_jobs_(most_jobs), lost_(std::move(lost)) {}
    void run();

    const std::size_t most_jobs_;
    const std::function<void()> lost_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::function<void()>> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace lambda::io
