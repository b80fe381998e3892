// Changes from the engine's thread to their reader's. Bound: kMost.
#pragma once

#include <mutex>
#include <vector>

#include "common/io/reactor.h"
#include "common/transfer/sync_plan.h"

namespace lambda::mover {

class ChangeLog final : public transfer::Changes {
  public:
    // Enough for what the engine puts between two looks at has_room().
    static constexpr std::size_t kMost = 65536;

    // `reactor` must outlive it; it is woken when there is room again.
    explicit ChangeLog(io::Reactor& reactor) : reactor_(reactor) {}

    bool has_room() const override {
        const std::lock_guard lock(mutex_);
        full_ = waiting_.size() >= kMost;
        return !full_;
    }
    void put(transfer::Change change) override {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(change));
    }
    // Any thread.
    std::vector<transfer::Change> take() {
        const std::lock_guard lock(mutex_);
        if (std::exchange(full_, false)) reactor_.wake();
        return std::exchange(waiting_, {});
    }

  private:
    io::Reactor& reactor_;
    mutable std::mutex mutex_;
    std::vector<transfer::Change> waiting_;
    mutable bool full_ = false;  // and the engine saw it so
};

}  // namespace lambda::mover
