#include "client/waiting.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <limits>

#include "common/io/machine.h"
#include "common/io/process.h"

namespace lambda::client {
namespace {

// timeout(1) signals the program, and at once the group that it is in.
constexpr time_t kSameS = 1;

// A signal handler sees nothing but globals; the event is written before the handlers stand.
int interruption_event = -1;
volatile std::sig_atomic_t interruption_known = 0;
timespec first_interruption{};

void remember_interruption(int number) {
    const int saved = errno;
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    if (interruption_known == 0) {
        first_interruption = at;
        interruption_known = 1;
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(interruption_event, &one, sizeof one);
    } else if (at.tv_sec - first_interruption.tv_sec > kSameS) {
        std::signal(number, SIG_DFL);
        std::raise(number);  // once this handler has returned
    }
    errno = saved;
}

}  // namespace

Time now() {
    return io::Clock().now();
}

void catch_interruptions() {
    interruption_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    LAMBDA_ASSERT(interruption_event >= 0);
    struct sigaction action {};
    action.sa_handler = remember_interruption;
    // One at a time: they share what they remember.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&action.sa_mask, number);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
    io::prepare_process();
}

bool interrupted() {
    pollfd event{.fd = interruption_event, .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
}

int interruption_fd() {
    return interruption_event;
}

Error interruption_error() {
    return Error{.fault = Fault::cut,
                 .message = "interrupted",
                 .path = {},
                 .side = Side::local,
                 .remedy = "run the same command again"};
}

void poll_until(std::span<pollfd> sockets, Time deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now()).count();
    const auto most = std::int64_t{std::numeric_limits<int>::max()};
    const int timeout = static_cast<int>(std::clamp(std::int64_t{left}, std::int64_t{0}, most));
    if (::poll(sockets.data(), sockets.size(), timeout) < 0) {
        LAMBDA_ASSERT(errno == EINTR);
        for (pollfd& socket : sockets) socket.revents = 0;
    }
}

Wait wait_for(int fd, short events, Time deadline) {
    for (;;) {
        pollfd sockets[] = {{.fd = fd, .events = events, .revents = 0},
                            {.fd = interruption_event, .events = POLLIN, .revents = 0}};
        poll_until(sockets, deadline);
        if (sockets[1].revents != 0) return Wait::interrupted;
        if (sockets[0].revents != 0) return Wait::ready;
        if (now() >= deadline) return Wait::late;
    }
}

}  // namespace lambda::client
