#include "client/waiting.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>

#include "common/io/machine.h"
#include "common/io/process.h"

namespace lambda::client {
namespace {

// A signal handler sees nothing but globals; this one is written before the handlers stand.
int interruption_event = -1;

void remember_interruption(int) {
    const int saved = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(interruption_event, &one, sizeof one);
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
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
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
