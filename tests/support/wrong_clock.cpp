// Preloaded into a program whose machine's clock is wrong: WRONG_CLOCK seconds ahead of the time,
// or behind it where that is negative. The monotonic clock is right, as it always is.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

long wrong_by() {
    static const long seconds = [] {
        const char* const text = std::getenv("WRONG_CLOCK");
        return text != nullptr ? std::strtol(text, nullptr, 10) : 0;
    }();
    return seconds;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long failed = ::syscall(SYS_clock_gettime, clock, time);
    const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (failed == 0 && wall) time->tv_sec += wrong_by();
    return static_cast<int>(failed);
}

extern "C" std::time_t time(std::time_t* into) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (into != nullptr) *into = now.tv_sec;
    return now.tv_sec;
}
