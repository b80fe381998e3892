#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "common/io/machine.h"

namespace lambda::io {
namespace {

// Events taken in one call; what is left comes with the next.
constexpr int kEvents = 64;
// To sleep and to be woken takes tens of microseconds of both processors, and more where one of a
// virtual machine halts.
constexpr Duration kWatch = std::chrono::microseconds(40);
// Waits of more do not end while one watches.
constexpr Duration kShortWait = 2 * kWatch;

timespec timespec_of(Duration duration) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(duration);
    timespec out{};
    out.tv_sec = static_cast<time_t>(whole.count());
    out.tv_nsec = static_cast<long>((duration - whole).count());
    return out;
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::make() {
    Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return errno_error(Fault::cut, "cannot make an epoll set", {}, errno);
    Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return errno_error(Fault::cut, "cannot make an eventfd", {}, errno);
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    interest.data.ptr = nullptr;
    LAMBDA_ASSERT(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest) == 0);
    // What forbids it would forbid each wait, and a wait has nobody to tell.
    const timespec at_once{};
    if (::epoll_pwait2(epoll.get(), &interest, 1, &at_once, nullptr) < 0 && errno != EINTR) {
        Error error = errno_error(Fault::unsupported, "cannot wait by epoll_pwait2", {}, errno);
        error.remedy = "take a kernel from 5.11 on, and a sandbox that allows the call";
        return error;
    }
    return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(event)));
}

Reactor::Reactor(Descriptor epoll, Descriptor event)
    : epoll_(std::move(epoll)), event_(std::move(event)) {}

Reactor::~Reactor() = default;

void Reactor::lose_work() {
    work_lost_ = true;
    wake();
}

void Reactor::wait(Time until) {
    if (std::exchange(awake_, false)) until = Time{};  // long ago
    if (!eager_) {
        look(until);
        return;
    }
    const Time began = Clock().now();
    if (until <= began) {
        look(until);
        return;
    }
    const Time end = last_wait_ < kShortWait ? std::min(until, began + kWatch) : began;
    Time now = began;
    int events = 0;
    while (events == 0 && now < end) {
        events = look(Time{});
        now = Clock().now();
    }
    watched_ += now - began;
    if (events == 0) look(until);
    last_wait_ = Clock().now() - began;
}

// How many events there were. A signal returns early like any other: io_uring's completions come
// that way, too.
int Reactor::look(Time until) {
    timespec timeout{};
    if (until > Time{} && until != kNever)
        timeout = timespec_of(std::max(until - Clock().now(), Duration::zero()));
    std::array<epoll_event, kEvents> events;
    const int count = ::epoll_pwait2(epoll_.get(), events.data(), kEvents,
                                     until == kNever ? nullptr : &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* readiness = static_cast<Readiness*>(event.data.ptr);
        if (readiness == nullptr) continue;  // wake(): edge-triggered, so the counter may stay
        constexpr std::uint32_t ended = EPOLLHUP | EPOLLERR;
        if ((event.events & (EPOLLIN | EPOLLRDHUP | ended)) != 0) readiness->readable = true;
        if ((event.events & (EPOLLOUT | ended)) != 0) readiness->writable = true;
    }
    return count;
}

void Reactor::wake() {
    const std::uint64_t one = 1;
    // Each write is an edge. The counter is never read: it would take 2^64 wakes to fill it.
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

void Reactor::add(int fd, Readiness* readiness) {
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    interest.data.ptr = readiness;
    LAMBDA_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &interest) == 0);
}

void Reactor::remove(int fd) {
    LAMBDA_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0);
}

}  // namespace lambda::io
