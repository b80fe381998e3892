#include "common/io/process.h"

#include <sys/resource.h>

#include <csignal>

namespace lambda::io {

void prepare_process() {
    std::signal(SIGPIPE, SIG_IGN);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    // Where it is refused, the limit stays what it was, and a transfer that reaches it says so.
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

}  // namespace lambda::io
