#include "common/io/reactor.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "common/io/clock.h"

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
    return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(event)));
}

Reactor::Reactor(Descriptor epoll, Descriptor event)
    : epoll_(std::move(epoll)), event_(std::move(event)), polled_{{epoll_.get(), POLLIN, 0}} {}

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
    bool news = false;
    while (!news && now < end) {
        news = look(Time{});
        now = Clock().now();
    }
    watched_ += now - began;
    if (!news) look(until);
    last_wait_ = Clock().now() - began;
}

// Whether anything happened; a signal is something, too. io_uring's completions are events of its
// descriptor.
bool Reactor::look(Time until) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        pollfd& busy = polled_[i + 1];
        busy.events = 0;
        if (!ready_[i]->readable) busy.events |= POLLIN;
        if (!ready_[i]->writable) busy.events |= POLLOUT;
    }
    timespec timeout{};
    if (until > Time{} && until != kNever)
        timeout = timespec_of(std::max(until - Clock().now(), Duration::zero()));
    const int count =
        ::ppoll(polled_.data(), polled_.size(), until == kNever ? nullptr : &timeout, nullptr);
    if (count <= 0) return count < 0;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        const short events = polled_[i + 1].revents;
        constexpr short ended = POLLHUP | POLLERR;
        if ((events & (POLLIN | ended)) != 0) ready_[i]->readable = true;
        if ((events & (POLLOUT | ended)) != 0) ready_[i]->writable = true;
    }
    if (polled_.front().revents != 0) take_events();
    return true;
}

void Reactor::take_events() {
    std::array<epoll_event, kEvents> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, 0);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        auto* readiness = static_cast<Readiness*>(event.data.ptr);
        if (readiness == nullptr) continue;  // wake(): edge-triggered, so the counter may stay
        constexpr std::uint32_t ended = EPOLLHUP | EPOLLERR;
        if ((event.events & (EPOLLIN | EPOLLRDHUP | ended)) != 0) readiness->readable = true;
        if ((event.events & (EPOLLOUT | ended)) != 0) readiness->writable = true;
    }
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

void Reactor::add_busy(int fd, Readiness* readiness) {
    ready_.push_back(readiness);
    polled_.push_back({fd, 0, 0});
}

void Reactor::remove_busy(int fd) {
    const auto at = std::find_if(polled_.begin() + 1, polled_.end(),
                                 [fd](const pollfd& each) { return each.fd == fd; });
    LAMBDA_ASSERT(at != polled_.end());
    ready_.erase(ready_.begin() + (at - polled_.begin() - 1));
    polled_.erase(at);
}

}  // namespace lambda::io
