#include "common/io/disk/thread_load.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "common/io/clock.h"
#include "common/io/process.h"

namespace lambda::io {
namespace {

// A block takes 0.3 ms, and now and then 20 where a host has to find its pages.
constexpr Duration kHeldUp = std::chrono::milliseconds(50);

using Text = std::array<char, 96>;
// Empty where there is nothing to read.
Text read(const Descriptor& file) {
    Text text{};
    if (!file || ::pread(file.get(), text.data(), text.size() - 1, 0) <= 0) text[0] = 0;
    return text;
}

}  // namespace

bool ThreadLoad::overloaded(Duration watched) {
    const Time now = Clock().now();
    if (now < next_) return overloaded_;
    next_ = now + Overload::kInterval;
    const auto known = times(watched);
    return overloaded_ =
               known && rule_.look({.at = now, .ran = known->ran, .waited = known->waited});
}

bool ThreadLoad::spare(Duration watched) {
    const Time now = Clock().now();
    if (now < spare_rule_.next()) return spare_;
    const auto known = times(watched);
    const auto rest = idle();
    if (!known || !rest) {
        spare_rule_.pass(now);
        return spare_ = false;
    }
    return spare_ = spare_rule_.look(
               {.at = now, .ran = known->ran, .waited = known->waited, .idle = *rest});
}

void ThreadLoad::spent(Duration time) {
    if (time < kHeldUp) return;
    spare_rule_.leave(Clock().now());
    spare_ = true;
}

// What the thread ran is by the last tick in the kernel's text, and its clock knows it to the
// moment. A kernel that does not keep the times prints zeros.
std::optional<ThreadLoad::Times> ThreadLoad::times(Duration watched) {
    if (!std::exchange(asked_, true))
        schedstat_ = Descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    const Text text = read(schedstat_);
    long long ran = 0, waited = 0;
    if (std::sscanf(text.data(), "%lld %lld", &ran, &waited) != 2 || ran == 0) return std::nullopt;
    return Times{Clock().thread_cpu() - watched, Duration(waited)};
}

// Of processors that this process may not use it says nothing that would help.
std::optional<double> ThreadLoad::idle() {
    if (!std::exchange(idle_asked_, true) && usable_processors() == ::sysconf(_SC_NPROCESSORS_ONLN))
        uptime_ = Descriptor(::open("/proc/uptime", O_RDONLY | O_CLOEXEC));
    const Text text = read(uptime_);
    double up = 0, idle = 0;
    if (std::sscanf(text.data(), "%lf %lf", &up, &idle) != 2) return std::nullopt;
    return idle;
}

}  // namespace lambda::io
