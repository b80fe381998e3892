// Memory for bytes that are read into it at once: a vector that does not set what it adds.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lambda {

template <typename T>
struct UnsetAllocator : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <typename U, typename... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0) {
            ::new (static_cast<void*>(at)) U;
        } else {
            std::construct_at(at, std::forward<Arguments>(arguments)...);
        }
    }
};

using Bytes = std::vector<std::byte, UnsetAllocator<std::byte>>;

}  // namespace lambda
