#include "common/dialling/waiting.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>

#include "common/io/clock.h"

namespace lambda::dialling {

Time now() {
    return io::Clock().now();
}

int minute_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return local.tm_hour * 60 + local.tm_min;
}

bool Interruption::raised() const {
    pollfd event{.fd = event_, .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
}

void Interruption::raise() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
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
        LAMBDA_ASSERT(errno == EINTR || errno == ENOMEM);
        for (pollfd& socket : sockets) socket.revents = 0;
    }
}

Wait wait_for(int fd, short events, Time deadline, const Interruption& interruption) {
    for (;;) {
        pollfd sockets[] = {{.fd = fd, .events = events, .revents = 0},
                            {.fd = interruption.fd(), .events = POLLIN, .revents = 0}};
        poll_until(sockets, deadline);
        if (sockets[1].revents != 0) return Wait::interrupted;
        if (sockets[0].revents != 0) return Wait::ready;
        if (now() >= deadline) return Wait::late;
    }
}

}  // namespace lambda::dialling
