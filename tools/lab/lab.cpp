#include "tools/lab/lab.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "tools/lab/arena.h"
#include "tools/lab/forwarder.h"
#include "tools/lab/host.h"
#include "tools/lab/series.h"

namespace lambda::lab {
namespace {

constexpr std::uint32_t kNews = 1000, kSignals = 1001;  // in epoll, beside the hosts' numbers

Error refused(const std::string& what) {
    return errno_error(Fault::unsupported, what, {}, errno);
}

// A router does not wait for its hosts to be idle. Not inherited. Where neither is allowed the
// counters tell how late the lab was.
void take_precedence() {
    sched_param parameter{};
    parameter.sched_priority = 1;
    if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0) {
        ::setpriority(PRIO_PROCESS, 0, -20);
    }
    ::prctl(PR_SET_TIMERSLACK, 1UL);
}

class Lab {
  public:
    Lab(std::vector<Host>& hosts, Forwarder& forwarder, Keeper keeper, Series& series,
        Duration turn)
        : hosts_(hosts),
          forwarder_(forwarder),
          keeper_(std::move(keeper)),
          series_(series),
          turn_(turn) {}

    Result<void> prepare() {
        epoll_ = io::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
        sigset_t set;
        sigemptyset(&set);
        for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
        signals_ = io::Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
        bool good = epoll_ && signals_ && watch(signals_.get(), kSignals) &&
                    watch(keeper_.news.get(), kNews);
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            good = good && watch(hosts_[i].tun.fd(), static_cast<std::uint32_t>(i));
        }
        if (!good) return refused("cannot watch the hosts");
        return {};
    }

    // Until the keeper has ended.
    Outcome live() {
        take_precedence();
        forwarder_.begin(clock_.now());
        while (!ended_) turn();
        if (!counters_) counters_ = forwarder_.counters(clock_.now());
        int status = 0;
        ::waitpid(keeper_.pid, &status, 0);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return {.exit_code = code,
                .counters = std::move(*counters_),
                .readings = series_.take_kept(),
                .forward_flows = forwarder_.forward_flows().flows(),
                .backward_flows = forwarder_.backward_flows().flows(),
                .series = {}};
    }

  private:
    bool watch(int fd, std::uint32_t number) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = number;
        return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
    }

    void turn() {
        std::array<epoll_event, kMostHosts + 2> events;
        const timespec wait = wait_for_events(clock_.now());
        const int count = ::epoll_pwait2(epoll_.get(), events.data(),
                                         static_cast<int>(events.size()), &wait, nullptr);
        last_turn_ = clock_.now();
        busy_ = false;
        for (int i = 0; i < count; ++i) {
            const std::uint32_t number = events[static_cast<std::size_t>(i)].data.u32;
            if (number == kNews) {
                hear();
            } else if (number == kSignals) {
                pass_signal_on();
            } else {
                busy_ |= forwarder_.fetch(number);
            }
        }
        forwarder_.deliver();
        if (const Time now = clock_.now(); now >= series_.next()) {
            series_.add(now, forwarder_.forward(now), forwarder_.backward(now));
        }
        if (busy_) pause();
    }

    // None where packets came just now: pause() has waited.
    timespec wait_for_events(Time now) const {
        Duration wait{0};
        if (!busy_) {
            const Time until =
                std::min(std::max(forwarder_.next_due(), last_turn_ + turn_), series_.next());
            wait = std::clamp(until - now, Duration{0}, Duration(std::chrono::seconds(1)));
        }
        return {.tv_sec = wait / std::chrono::seconds(1),
                .tv_nsec = (wait % std::chrono::seconds(1)).count()};
    }

    void pause() {
        const Time until = last_turn_ + turn_;
        if (clock_.now() >= until) return;
        const Duration since_boot = until.time_since_epoch();
        const timespec when{.tv_sec = since_boot / std::chrono::seconds(1),
                            .tv_nsec = (since_boot % std::chrono::seconds(1)).count()};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    }

    void hear() {
        char news = 0;
        const ssize_t got = ::read(keeper_.news.get(), &news, 1);
        if (got == 0) ended_ = true;
        if (got != 1) return;
        const Time now = clock_.now();
        if (news == kMainBegan) {
            forwarder_.begin(now);
            forwarder_.begin_timetable(now);
            series_.begin(now);
        } else if (news == kMainEnded) {
            counters_ = forwarder_.counters(now);
            series_.end();
        }
    }

    void pass_signal_on() {
        signalfd_siginfo info{};
        if (::read(signals_.get(), &info, sizeof info) != sizeof info) return;
        // From a terminal the main command has it already.
        if (info.ssi_code == SI_KERNEL) return;
        ::kill(keeper_.pid, static_cast<int>(info.ssi_signo));
    }

    std::vector<Host>& hosts_;
    Forwarder& forwarder_;
    Keeper keeper_;
    Series& series_;
    const Duration turn_;
    io::Clock clock_;
    io::Descriptor epoll_, signals_;
    Time last_turn_{};
    bool busy_ = false, ended_ = false;
    std::optional<Counters> counters_;
};

void add_environment(const std::vector<Host>& hosts, const Plan& plan, Household& household) {
    for (const Host& host : hosts) {
        household.environment.emplace_back("LAB_HOST_" + host.spec.name, host.address);
        if (host.address6.empty()) continue;
        household.environment.emplace_back("LAB_HOST6_" + host.spec.name, host.address6);
    }
    household.environment.emplace_back("LAB_SEED", std::to_string(plan.seed));
}

// Bytes of the arena that are no packets': blocks that one packet of many still holds, headers,
// and what is read while the path is full.
std::uint64_t memory_needed(const PathSpec& path) {
    return static_cast<std::uint64_t>(most_bytes_in_flight(path) * 1.25) + 16 * MiB;
}

}  // namespace

Result<Outcome> run_lab(Plan plan) {
    const std::uint64_t needed = memory_needed(plan.path);
    if (needed > plan.memory) {
        return Error{.fault = Fault::usage,
                     .message = "the path holds up to " + format_size(needed) + ", more than the " +
                                format_size(plan.memory) + " it may take",
                     .path = {},
                     .side = Side::local,
                     .remedy = "allow more by --memory, if the machine has it"};
    }
    auto arena = Arena::make(plan.memory);
    if (!arena) return arena.error();
    auto series = Series::make(plan.series, plan.keep_readings);
    if (!series) return series.error();
    auto hosts = make_hosts(plan.path, plan.offload);
    if (!hosts) return hosts.error();
    add_environment(*hosts, plan, plan.household);
    auto keeper = start_household(plan.household, *hosts);
    if (!keeper) return keeper.error();
    Forwarder forwarder(io::Clock().now(), plan.path, *hosts, *arena, plan.seed);
    Lab lab(*hosts, forwarder, std::move(*keeper), *series, plan.turn);
    if (auto ready = lab.prepare(); !ready) return ready.error();
    Outcome outcome = lab.live();
    outcome.series = series->close();
    return outcome;
}

}  // namespace lambda::lab
