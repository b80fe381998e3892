#include "client/report/standard_output.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "client/waiting.h"
#include "common/base/time.h"

namespace lambda::client {
namespace {

constexpr std::size_t kMostWaiting = 16 * 1024;
constexpr Duration kGrace = std::chrono::seconds(1);

}  // namespace

int StandardOutput::put(std::string_view line) {
    if (failed_ != 0) return failed_;
    waiting_.append(line).push_back('\n');
    return terminal_ || waiting_.size() >= kMostWaiting ? flush() : 0;
}

int StandardOutput::flush() {
    std::optional<Time> last;  // once interrupted
    std::size_t done = 0;
    while (failed_ == 0 && done < waiting_.size()) {
        if (!last && interrupted()) last = now() + kGrace;
        pollfd sockets[] = {
            {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0},
            {.fd = last ? -1 : interruption().fd(), .events = POLLIN, .revents = 0}};
        poll_until(sockets, last.value_or(kNever));
        if (sockets[0].revents == 0) {
            if (last && now() >= *last) failed_ = EINTR;
            continue;
        }
        // No more than a pipe that is ready takes without waiting.
        const std::size_t most = std::min<std::size_t>(PIPE_BUF, waiting_.size() - done);
        const ssize_t written = ::write(STDOUT_FILENO, waiting_.data() + done, most);
        if (written >= 0)
            done += static_cast<std::size_t>(written);
        else if (errno != EINTR && errno != EAGAIN)
            failed_ = errno;
    }
    waiting_.clear();
    return failed_;
}

}  // namespace lambda::client
