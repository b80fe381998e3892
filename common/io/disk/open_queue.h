// Targets that a disk is to create, in order, while it has others in hand: each of these may hold
// four files open (OpenFile), and a process may open only so many. In hand may be a share of those
// for all queues of a kind, and kSure for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace lambda::io {

class TargetQueue {
  public:
    // What waits here may fill all slots, and then nothing comes for those in hand. So they must be
    // more than the files whose blocks a sender reads while later ones pass them
    // (transfer::Source::kMostAhead).
    static constexpr std::size_t kSure = 64;
    enum class Kind { fresh, kept };  // kept: of whose partial file something may be kept
    explicit TargetQueue(Kind kind);

    // It is in hand until `held`, which must not outlive the queue, is let go. Any thread may.
    using Held = std::shared_ptr<void>;
    using Create = std::function<void(Held held)>;
    void put(Create create);
    // Begins those for which there is room. To be called whenever there may be.
    void begin();

  private:
    Held hold();

    std::atomic<std::size_t>& all_;  // of this kind, of all queues
    const std::size_t most_;
    std::atomic<std::size_t> ours_ = 0;
    std::deque<Create> waiting_;
};

}  // namespace lambda::io
