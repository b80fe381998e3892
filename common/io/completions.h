// What worker threads have done, for the engine thread to take. Bounded by the work that was given
// out. Looking costs one atomic load where there is nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace lambda::io {

template <typename T>
class Completions {
  public:
    // Any thread. True: nothing was there to be taken, so the taker must be woken; it takes all
    // that there is each time that it was.
    [[nodiscard]] bool put(T&& done) {
        const std::lock_guard lock(mutex_);
        done_.push_back(std::move(done));
        some_.store(true, std::memory_order_release);
        return done_.size() == 1;
    }

    // Into `out`, whose content is lost.
    void take(std::vector<T>& out) {
        out.clear();
        if (!some_.load(std::memory_order_acquire)) return;
        const std::lock_guard lock(mutex_);
        std::swap(out, done_);
        some_.store(false, std::memory_order_release);
    }

  private:
    std::mutex mutex_;
    std::vector<T> done_;
    std::atomic<bool> some_ = false;
};

}  // namespace lambda::io
