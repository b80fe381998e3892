#include "client/waiting.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "common/io/process.h"

namespace lambda::client {
namespace {

// timeout(1) signals the program, and at once the group that it is in.
constexpr time_t kSameS = 1;

// A signal handler sees nothing but globals; the event is written before the handlers stand.
int interruption_event = -1;
volatile std::sig_atomic_t interruption_known = 0;
timespec first_interruption{};
thread_local int adopted_event = -1;

void remember_interruption(int number) {
    const int saved = errno;
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    if (interruption_known == 0) {
        first_interruption = at;
        interruption_known = 1;
        dialling::Interruption(interruption_event).raise();
    } else if (at.tv_sec - first_interruption.tv_sec > kSameS) {
        std::signal(number, SIG_DFL);
        std::raise(number);  // once this handler has returned
    }
    errno = saved;
}

}  // namespace

void catch_interruptions() {
    io::prepare_process();
    interruption_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    LAMBDA_ASSERT(interruption_event >= 0);
    struct sigaction action {};
    action.sa_handler = remember_interruption;
    // One at a time: they share what they remember.
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&action.sa_mask, number);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        ::sigaction(number, nullptr, &before);
        // As nohup asks for. A script's background ignores SIGINT, too, but who sends that to it
        // means it.
        const bool ignored = number == SIGHUP && before.sa_handler == SIG_IGN;
        if (!ignored) ::sigaction(number, &action, nullptr);
    }
}

void adopt_interruption(dialling::Interruption interruption) {
    adopted_event = interruption.fd();
}

dialling::Interruption interruption() {
    return dialling::Interruption(adopted_event >= 0 ? adopted_event : interruption_event);
}

}  // namespace lambda::client
