// A bounded queue between two threads. Control messages only: a transfer puts a few in its life, so
// a lock is right here; the data plane has none.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace lambda {

template <typename T>
class Mailbox {
  public:
    explicit Mailbox(std::size_t capacity) : capacity_(capacity) {}

    // False when full: the message stays with the caller.
    bool put(T&& message) {
        const std::lock_guard lock(mutex_);
        if (queue_.size() >= capacity_) return false;
        queue_.push_back(std::move(message));
        return true;
    }

    std::optional<T> take() {
        const std::lock_guard lock(mutex_);
        if (queue_.empty()) return std::nullopt;
        std::optional<T> message(std::move(queue_.front()));
        queue_.pop_front();
        return message;
    }

  private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::deque<T> queue_;
};

}  // namespace lambda
