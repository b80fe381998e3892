#include <ctime>

#include "common/io/machine.h"

namespace lambda::io {

Time Clock::now() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return Time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace lambda::io
