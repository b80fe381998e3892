#include "common/io/disk/target_queue.h"

#include <array>
#include <utility>

#include "common/io/process.h"

namespace lambda::io {
namespace {

// Two kinds of four files each: a quarter of all. See finisher.h for most of the rest.
constexpr std::size_t kOfFilesToOpen = 32;

std::array<std::atomic<std::size_t>, 2> in_hand;

}  // namespace

TargetQueue::TargetQueue(Kind kind)
    : all_(in_hand[static_cast<std::size_t>(kind)]), most_(files_to_open() / kOfFilesToOpen) {}

void TargetQueue::put(Create create) {
    waiting_.push_back(std::move(create));
    begin();
}

void TargetQueue::begin() {
    while (!waiting_.empty() && (ours_ < kSure || all_ < most_)) {
        Create create = std::move(waiting_.front());
        waiting_.pop_front();
        create(hold());
    }
}

TargetQueue::Held TargetQueue::hold() {
    ++ours_;
    ++all_;
    return {static_cast<void*>(this), [](void* queue) {
                --static_cast<TargetQueue*>(queue)->all_;
                --static_cast<TargetQueue*>(queue)->ours_;
            }};
}

}  // namespace lambda::io
