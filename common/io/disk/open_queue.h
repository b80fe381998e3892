// What a disk is to open, in order, while it has others open: each of these may hold several
// descriptors (OpenFile), and a process may have only so many. Open may be a share of those for all
// queues of a kind, and a few for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace lambda::io {

class OpenQueue {
  public:
    enum class Kind {
        source,
        fresh,  // a target
        kept,   // a target of whose partial file something may be kept
    };
    // What waits here may fill all slots, and then nothing comes for the targets in hand. So they
    // must be more than the files whose blocks a sender reads while later ones pass them
    // (transfer::Source::kMostAhead).
    static constexpr std::size_t kSureTargets = 64;
    static constexpr std::size_t kSureSources = 8;
    explicit OpenQueue(Kind kind);

    // It is in hand until `held`, which must not outlive the queue, is let go. Any thread may, and
    // has submit() called after that.
    using Held = std::shared_ptr<void>;
    using Open = std::function<void(Held held)>;
    void put(Open open);
    // Begins those for which there is room. To be called whenever there may be.
    void begin();

  private:
    Held hold();

    std::atomic<std::size_t>& all_;  // of this kind, of all queues
    const std::size_t sure_, most_;
    std::atomic<std::size_t> ours_ = 0;
    std::deque<Open> waiting_;
};

}  // namespace lambda::io
