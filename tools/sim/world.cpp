#include "tools/sim/world.h"

#include <algorithm>
#include <utility>

namespace lambda::simulation {

void Alarm::set(Time time) {
    time = std::max(time, world_.now());
    if (time >= due_) return;
    due_ = time;
    world_.push(time, this, 0);
}

void World::push(Time time, Alarm* alarm, std::size_t action) {
    events_.push_back({time, order_++, alarm, action});
    std::push_heap(events_.begin(), events_.end());
}

void World::after(Duration delay, std::function<void()> action) {
    std::size_t index = actions_.size();
    if (free_actions_.empty()) {
        actions_.push_back(std::move(action));
    } else {
        index = free_actions_.back();
        free_actions_.pop_back();
        actions_[index] = std::move(action);
    }
    push(now_ + delay, nullptr, index);
}

bool World::step(Time limit) {
    if (events_.empty() || events_.front().time > limit) {
        now_ = std::max(now_, limit);
        return false;
    }
    std::pop_heap(events_.begin(), events_.end());
    const Event event = events_.back();
    events_.pop_back();
    now_ = event.time;
    if (event.alarm == nullptr) {
        const std::function<void()> action = std::exchange(actions_[event.action], nullptr);
        free_actions_.push_back(event.action);
        action();
    } else if (event.alarm->due_ == event.time) {
        event.alarm->due_ = kNever;
        event.alarm->action_();
    }
    return true;
}

}  // namespace lambda::simulation
