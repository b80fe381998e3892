#include "common/io/clock.h"

#include <ctime>

namespace lambda::io {
namespace {

Duration read(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Time Clock::now() {
    return Time(read(CLOCK_MONOTONIC));
}

Duration Clock::thread_cpu() {
    return read(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace lambda::io
