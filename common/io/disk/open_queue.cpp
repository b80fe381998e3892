#include "common/io/disk/open_queue.h"

#include <array>
#include <utility>

#include "common/io/process.h"

namespace lambda::io {
namespace {

// A source holds two (the file by itself, and past the page cache): a sixteenth of all. Two kinds
// of targets hold four each: a quarter. See finisher.h for most of the rest.
constexpr std::size_t kOfFilesToOpen = 32;

std::array<std::atomic<std::size_t>, 3> in_hand;

}  // namespace

OpenQueue::OpenQueue(Kind kind)
    : all_(in_hand[static_cast<std::size_t>(kind)]),
      sure_(kind == Kind::source ? kSureSources : kSureTargets),
      most_(files_to_open() / kOfFilesToOpen) {}

void OpenQueue::put(Open open) {
    waiting_.push_back(std::move(open));
    begin();
}

void OpenQueue::begin() {
    while (!waiting_.empty() && (ours_ < sure_ || all_ < most_)) {
        Open open = std::move(waiting_.front());
        waiting_.pop_front();
        open(hold());
    }
}

OpenQueue::Held OpenQueue::hold() {
    ++ours_;
    ++all_;
    return {static_cast<void*>(this), [](void* queue) {
                --static_cast<OpenQueue*>(queue)->all_;
                --static_cast<OpenQueue*>(queue)->ours_;
            }};
}

}  // namespace lambda::io
