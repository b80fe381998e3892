#include "client/transfers.h"

#include <sys/stat.h>

#include <set>

#include "client/destination.h"
#include "client/left_over.h"
#include "client/offer.h"
#include "client/retry.h"
#include "client/transfer_loop.h"
#include "client/waiting.h"
#include "common/base/units.h"
#include "common/io/machine.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

// Directories come off the plan with an error each; they are all that is looked at beforehand.
std::vector<std::string> drop_directories(Plan& plan, Report& report) {
    std::vector<std::string> dropped;
    std::erase_if(plan.items, [&](const Item& item) {
        struct stat status {};
        if (::stat(item.path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
        report.error(Error{.fault = Fault::file,
                           .message = "is a directory; trees are not supported yet",
                           .path = item.path,
                           .side = Side::local,
                           .remedy = "name the files in it"});
        dropped.push_back(item.argument);
        return true;
    });
    return dropped;
}

Fault fault_of_refusal(int code) {
    switch (code) {
        case 501:
        case 504:
            return Fault::usage;
        case 530:
            return Fault::session;
        case 550:
        case 553:
            return Fault::file;
        default:
            return Fault::cut;  // 425, 450: later it may do
    }
}

Result<session::Agreement> agree(Connection& connection, const Plan& plan,
                                 const session::Offer& offer, Report& report) {
    const auto reply = connection.exchange("XFER", session::format_offer(offer));
    if (connection.logged_in()) report.session_stands();
    if (!reply) return reply.error();
    if (reply->code != 150) {
        return refusal(*reply, fault_of_refusal(reply->code), plan.remote_target);
    }
    auto agreement = session::parse_agreement(reply->text());
    if (!agreement) return agreement;
    const auto checked = check_agreement(offer.terms, agreement->terms);
    if (!checked) return checked.error();
    return agreement;
}

mover::Setup make_setup(const Plan& plan, const session::Agreement& agreement,
                        const Connection& connection, const config::ClientSettings& settings) {
    std::vector<mover::SourceName> sources;
    std::vector<std::string> wants;
    for (const Item& item : plan.items) {
        if (plan.direction == session::Direction::put) {
            sources.push_back({.path = item.path, .name = item.name});
        } else {
            wants.push_back(item.path);
        }
    }
    return mover::Setup{.terms = agreement.terms,
                        .secret = {},
                        .transfer = agreement.transfer,
                        .is_client = true,
                        .root = io::Root::machine(),
                        .sources = std::move(sources),
                        .wants = std::move(wants),
                        .target = plan.local_target,
                        .local = connection.local(),
                        .peer = connection.peer(),
                        .ports = agreement.ports,
                        .socket_buffer = settings.socket_buffer,
                        .allow_uring = settings.io_uring,
                        .dial = {},
                        .finished = {}};
}

// `token`: of the try before, whose place this one takes; then its own.
Result<mover::Outcome> transfer(const Plan& plan, const Arguments& arguments, std::string& token,
                                Report& report) {
    session::Offer offer = make_offer(plan, arguments.settings);
    offer.replaces = token;
    if (plan.direction == session::Direction::put) {  // we send; else the server knows its own
        const Result<void> law = sabul::check_law(offer.terms.congestion);
        if (!law) {
            Error error = law.error();
            error.fault = Fault::usage;
            return error;
        }
    }
    auto connection = Connection::open(
        plan.server, arguments.access(), [&](const std::string& text) { report.note(text); },
        offer.terms.stripes);
    if (!connection) return connection.error();
    const auto agreement = agree(**connection, plan, offer, report);
    if (!agreement) return agreement.error();
    token = agreement->token;
    const auto secret = transfer_secret(**connection, offer, *agreement);
    if (!secret) return secret.error();
    mover::Setup setup = make_setup(plan, *agreement, **connection, arguments.settings);
    setup.secret = *secret;
    auto loop = TransferLoop::make(**connection, std::move(setup), agreement->token, report);
    if (!loop) return loop.error();
    return (*loop)->run();
}

// The sources that were not done, as the user gave them.
std::vector<std::string> undone(const Plan& plan, const mover::Outcome& outcome) {
    const std::set<std::string> done(outcome.done.begin(), outcome.done.end());
    std::vector<std::string> sources;
    for (const Item& item : plan.items) {
        if (!done.contains(item.name)) sources.push_back(item.argument);
    }
    return sources;
}

// What a next try has to do: what is neither done nor failed.
void drop_settled(Plan& plan, const mover::Outcome& outcome) {
    std::set<std::string> settled(outcome.done.begin(), outcome.done.end());
    for (const mover::FileFailure& failure : outcome.failures) settled.insert(failure.name);
    std::erase_if(plan.items, [&](const Item& item) {
        return settled.contains(item.name) || settled.contains(item.path);
    });
}

// Dials again where the session is lost, for as long as the user wants it.
Result<mover::Outcome> transfer_with_retries(Plan plan, const Arguments& arguments,
                                             Report& report) {
    std::uint64_t seed = 0;
    io::fill_random(std::as_writable_bytes(std::span(&seed, 1)));
    Retry retry(arguments.settings.retry_for, seed);
    std::optional<mover::Outcome> all;
    std::string token;
    while (true) {
        const auto outcome = transfer(plan, arguments, token, report);
        if (outcome) {
            if (!all) all.emplace();
            add_try(*all, *outcome);
            if (!outcome->cut) return *all;
            retry.stood(now());
            drop_settled(plan, *outcome);
            if (plan.items.empty()) {
                all->cut.reset();
                return *all;
            }
        } else if (!all) {
            return outcome.error();
        }
        const Error lost = outcome ? *outcome->cut : outcome.error();
        const auto pause = may_pass(lost) && !interrupted() ? retry.pause(now()) : std::nullopt;
        all->cut = lost;
        if (!pause) return *all;
        report.note(lost.sentence() + "; trying again in " + format_duration(*pause));
        pollfd user{.fd = interruption_fd(), .events = POLLIN, .revents = 0};
        poll_until({&user, 1}, now() + *pause);
        if (!interrupted()) continue;
        all->cut = interruption_error();
        return *all;
    }
}

void report_outcome(const mover::Outcome& outcome, Report& report) {
    for (const mover::FileFailure& failure : outcome.failures) {
        Error error = failure.error;
        if (error.path.empty()) error.path = failure.name;
        report.error(error);
    }
    if (outcome.failed > outcome.failures.size()) {
        report.note(std::to_string(outcome.failed - outcome.failures.size()) +
                    " more files failed");
    }
    if (outcome.cut) report.error(*outcome.cut);
    report.moved(outcome);
}

void keep_left_over(const Arguments& arguments, const std::vector<std::string>& sources,
                    Report& report) {
    if (sources.empty()) return;
    const auto file = write_left_over(arguments.left_over, sources);
    if (!file) {
        report.error(file.error());
        return;
    }
    report.left_over(*file);
    report.say("what was not done is listed in " + *file);
}

void run(Plan plan, const Arguments& arguments, Report& report) {
    std::vector<std::string> left;
    if (plan.direction == session::Direction::put) left = drop_directories(plan, report);
    if (!plan.items.empty()) {
        const auto outcome = transfer_with_retries(plan, arguments, report);
        if (outcome) {
            report_outcome(*outcome, report);
            const auto sources = undone(plan, *outcome);
            left.insert(left.end(), sources.begin(), sources.end());
        } else {
            report.error(outcome.error());
            for (const Item& item : plan.items) left.push_back(item.argument);
        }
    }
    keep_left_over(arguments, left, report);
}

}  // namespace

void put(const Arguments& arguments, Report& report) {
    auto plan = plan_put(arguments.operands);
    if (!plan) return report.error(plan.error());
    run(*std::move(plan), arguments, report);
}

void get(const Arguments& arguments, Report& report) {
    auto plan = plan_get(arguments.operands);
    if (!plan) return report.error(plan.error());
    run(*std::move(plan), arguments, report);
}

}  // namespace lambda::client
