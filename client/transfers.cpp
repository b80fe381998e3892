#include "client/transfers.h"

#include <sys/stat.h>

#include <set>

#include "client/destination.h"
#include "client/left_over.h"
#include "client/offer.h"
#include "client/transfer_loop.h"
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

Result<mover::Outcome> transfer(const Plan& plan, const Arguments& arguments, Report& report) {
    const session::Offer offer = make_offer(plan, arguments.settings);
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
    const auto secret = transfer_secret(**connection, offer, *agreement);
    if (!secret) return secret.error();
    mover::Setup setup = make_setup(plan, *agreement, **connection, arguments.settings);
    setup.secret = *secret;
    auto loop = TransferLoop::make(**connection, std::move(setup), agreement->token, report);
    if (!loop) return loop.error();
    return (*loop)->run();
}

// The sources that were not done, as the user gave them. A transfer that was cut leaves all of
// them: doing one twice costs little, since what is complete is not sent again.
std::vector<std::string> undone(const Plan& plan, const mover::Outcome& outcome) {
    std::set<std::string> names;
    for (const mover::FileFailure& failure : outcome.failures) names.insert(failure.name);
    std::vector<std::string> sources;
    for (const Item& item : plan.items) {
        if (names.contains(item.path) || names.contains(item.name))
            sources.push_back(item.argument);
    }
    const bool all_known = !outcome.cut && sources.size() == outcome.failed;
    if (all_known) return sources;
    sources.clear();
    for (const Item& item : plan.items) sources.push_back(item.argument);
    return sources;
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
        const auto outcome = transfer(plan, arguments, report);
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
