#include "client/replicate/state_verbs.h"

#include <unistd.h>

#include "client/command_line/usage.h"
#include "client/home/home.h"
#include "client/waiting.h"
#include "common/io/cipher/random.h"

namespace lambda::client::replicate {
namespace {

constexpr std::size_t kMostHistory = 100;
constexpr Duration kWatched = std::chrono::seconds(1);

// Of a fleet's movers all may be dead, which is known when their leases are over.
Result<void> await_cancelled(Store& store, std::int64_t number, Report& report) {
    report.note("waits until a mover has heard it");
    while (true) {
        const auto run = store.run(number);
        if (!run) return run.error();
        if (!*run || (*run)->state != RunState::running) return {};
        const auto movers = store.movers();
        if (!movers) return movers.error();
        if (movers->empty()) {
            const auto ended = store.end_run(number, RunState::cancelled, fresh_owner());
            return ended ? Result<void>() : ended.error();
        }
        if (interrupted()) return interruption_error();
        pollfd user{.fd = interruption().fd(), .events = POLLIN, .revents = 0};
        poll_until({&user, 1}, now() + kWatched);
    }
}

}  // namespace

std::string fresh_owner() {
    std::array<std::byte, 4> random{};
    io::fill_random(random);
    std::string owner = host_name() + ":" + std::to_string(::getpid()) + ":";
    for (const std::byte byte : random) owner += std::to_string(std::to_integer<int>(byte));
    return owner;
}

void show(const Words& words, Report& report) {
    report.data(words.json, printable(words.text));
}

void tell(const Words& words, Report& report) {
    if (report.style().json) return show(words, report);
    report.note(words.text);
}

Result<JobStatus> status_of(Store& store) {
    JobStatus status;
    const auto request = store.request();
    if (!request) return request.error();
    status.request = *request;
    auto run = store.last_run();
    if (!run) return run.error();
    status.run = *std::move(run);
    if (!status.run) return status;
    auto sites = store.sites(status.run->id);
    if (!sites) return sites.error();
    status.sites = *std::move(sites);
    if (status.run->state == RunState::running) {
        auto movers = store.movers();
        if (!movers) return movers.error();
        status.movers = *std::move(movers);
    }
    auto tallies = store.tallies(status.run->id);
    if (!tallies) return tallies.error();
    status.tallies = *std::move(tallies);
    return status;
}

Result<void> status(const Job& job, Store& store, Report& report) {
    const auto status = status_of(store);
    if (!status) return status.error();
    show(words_of_status(job, *status), report);
    if (!status->run) return {};
    for (const SiteStatus& site : status->sites)
        show(words_of_site(site, {.run = how_it_goes(*status)}), report);
    const auto failures = store.failures(status->run->id, mover::Outcome::kMaxFailures);
    if (!failures) return failures.error();
    for (const Failure& failure : *failures) show(words_of_failure(job, failure), report);
    return {};
}

Result<void> watch(const Job& job, Store& store, Report& report) {
    std::string last;
    bool moves = false;  // or has moved: who conducts may be busy with `before`, and then `after`
    while (true) {
        const bool conducted = store.conducted();
        const auto status = status_of(store);
        if (!status) return status.error();
        const Words words = words_of_status(job, *status);
        if (report.on_terminal() && !report.style().json) {
            report.live(words.text);
        } else if (words.text != last) {
            show(words, report);
            report.flush();
        }
        last = words.text;
        moves = moves || !status->movers.empty();
        if (moves ? status->movers.empty() : !conducted) break;
        if (interrupted()) return interruption_error();
        pollfd user{.fd = interruption().fd(), .events = POLLIN, .revents = 0};
        poll_until({&user, 1}, now() + kWatched);
    }
    report.live("");
    return report.on_terminal() ? status(job, store, report) : Result<void>();
}

Result<void> cancel(Store& store, Report& report) {
    const auto alone = store.conduct();
    if (!alone) return alone.error();
    const auto last = store.last_run();
    if (!last) return last.error();
    const bool under_way = *last && (*last)->state == RunState::running;
    const auto movers = store.shared() ? store.movers() : std::vector<Mover>();
    if (!movers) return movers.error();
    // Who hears it ends the run, and tells its webhook.
    if (under_way && (!*alone || !movers->empty())) {
        if (auto asked = store.set_request(Request::cancel); !asked) return asked.error();
        if (store.shared()) return await_cancelled(store, (*last)->id, report);
        report.note("the run ends: what is under way stops");
        return {};
    }
    if (!under_way) {
        const auto asked = store.request();
        const bool paused = asked && *asked == Request::pause;
        report.note(std::string("no run is under way") +
                    (paused    ? "; the pause of the next one is lifted"
                     : !*alone ? "; one that is about to begin is not cancelled by this"
                               : ""));
    } else if (auto ended = store.end_run((*last)->id, RunState::cancelled, fresh_owner());
               !ended) {
        return ended.error();
    } else {
        report.note("the run that was cut is cancelled");
    }
    const auto lifted = store.set_request(Request::none);  // a pause was of what is over
    return lifted ? Result<void>() : lifted.error();
}

Result<void> ask(const Job& job, Store& store, Request request, Report& report) {
    const auto status = status_of(store);
    if (!status) return status.error();
    const auto asked = store.set_request(request);
    if (!asked) return asked.error();
    if (!*asked)
        return usage(job.file, "its run is being cancelled", "say it again when that has ended");
    if (request == Request::pause) {
        if (status->movers.empty()) {
            report.say("no run is under way; the next one waits for `replicate JOB resume`");
        } else {
            report.note("it pauses: what is under way stops, and goes on from there later");
        }
    } else if (status->request != Request::pause) {
        report.note("it was not paused");
    } else {
        report.note("the pause is lifted");
    }
    return {};
}

Result<void> history(const Job& job, Store& store, Report& report) {
    const auto runs = store.runs(kMostHistory);
    if (!runs) return runs.error();
    const auto movers = store.movers();
    if (!movers) return movers.error();
    for (Run run : *runs) {
        if (run.state == RunState::running) {
            const auto sites = store.sites(run.id);
            if (!sites) return sites.error();
            add_so_far(run, *sites);
        }
        show(words_of_run(run, !movers->empty()), report);
    }
    if (runs->empty()) report.note("no run of " + job.name + " yet");
    return {};
}

}  // namespace lambda::client::replicate
