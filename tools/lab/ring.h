// A first-in-first-out queue that grows by doubling and then allocates no more. Its owner bounds
// it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lambda::lab {

template <typename T>
class Ring {
  public:
    bool empty() const { return first_ == last_; }
    std::size_t size() const { return last_ - first_; }
    const T& front() const { return slots_[first_ & mask_]; }

    void push(const T& value) {
        if (size() == slots_.size()) grow();
        slots_[last_++ & mask_] = value;
    }
    T pop() { return slots_[first_++ & mask_]; }

  private:
    void grow() {
        std::vector<T> larger(slots_.size() * 2);
        const std::size_t held = size();
        for (std::size_t i = 0; i < held; ++i) larger[i] = slots_[(first_ + i) & mask_];
        slots_ = std::move(larger);
        mask_ = slots_.size() - 1;
        first_ = 0;
        last_ = held;
    }

    std::vector<T> slots_ = std::vector<T>(1024);
    std::size_t mask_ = slots_.size() - 1;
    std::size_t first_ = 0, last_ = 0;
};

}  // namespace lambda::lab
