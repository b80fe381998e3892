#include "client/transfer/transfers.h"

#include <algorithm>
#include <filesystem>

#include "client/command_line/sources.h"
#include "client/command_line/usage.h"
#include "client/copy/copy_command.h"
#include "client/receipt/signing.h"
#include "client/remote/server_names.h"
#include "client/report/failures.h"
#include "client/report/progress.h"
#include "client/transfer/destination.h"
#include "client/transfer/landing.h"
#include "client/transfer/left_over.h"
#include "client/transfer/offer.h"
#include "client/transfer/outputs.h"
#include "client/transfer/path_start.h"
#include "client/transfer/rate_schedule.h"
#include "client/transfer/stage.h"
#include "client/transfer/stage_command.h"
#include "client/waiting.h"
#include "common/base/units.h"
#include "common/dialling/agreement.h"
#include "common/dialling/retry.h"
#include "common/dialling/transfer_loop.h"
#include "common/io/machine.h"
#include "common/io/stage/stage.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

using dialling::may_pass;
using dialling::Retry;
using dialling::Tries;

// What stands at the server under a name with wildcards is meant by it; else it is a pattern, and
// what it finds lands in DESTINATION.
Result<void> settle_patterns(Connection& connection, Plan& plan) {
    std::vector<Item*> doubtful;
    std::vector<std::string> paths;
    for (Item& item : plan.items) {
        if (!item.pattern) continue;
        doubtful.push_back(&item);
        paths.push_back(item.path);
    }
    const auto standing = ServerNames(connection).look(paths);
    if (!standing) return standing.error();
    for (std::size_t i = 0; i < paths.size(); ++i) {
        doubtful[i]->pattern = !standing->at(i);
        if (doubtful[i]->pattern) plan.local_target.into_directory = true;
    }
    return {};
}

// A get's is cut at the server.
std::optional<FileRange> range_of_source(const Plan& plan) {
    if (plan.direction != session::Direction::put || !plan.range) return std::nullopt;
    return plan.range->range;
}

bool staged(const Plan& plan, session::Direction direction) {
    return plan.direction == direction && plan.range && !plan.range->stage.empty();
}
Stage stage_of(const PlannedRange& range) {
    return {.name = range.stage, .source = *range.range.version};
}

// Whether the range was done before: at the server, and here.
Result<bool> stands_there(Connection& connection, const Plan& plan) {
    if (!staged(plan, session::Direction::put)) return false;
    const auto done = look_at_stage(connection, stage_of(*plan.range), plan.remote_target);
    if (!done) return done.error();
    return done->contains(plan.range->range.bytes);
}
Result<bool> stands_here(const Plan& plan) {
    if (!staged(plan, session::Direction::get)) return false;
    const auto done =
        io::staged_ranges(io::Root::machine(), plan.local_target.path, stage_of(*plan.range));
    if (!done) return done.error();
    return done->contains(plan.range->range.bytes);
}

// Of a directory there are no ranges.
Result<void> settle_range(Connection& connection, const Plan& plan) {
    if (plan.direction != session::Direction::get || !plan.range) return {};
    const std::string& path = plan.items.front().path;
    const auto reply = connection.exchange("SIZE", path);
    if (!reply) return reply.error();
    if (reply->code != 213) return refusal(*reply, Fault::file, path);
    return {};
}

mover::Outcome nothing_to_move(const Plan& plan) {
    mover::Outcome outcome;
    outcome.files = outcome.adopted = 1;
    outcome.done = {plan.items.front().name};
    return outcome;
}

// What is got to a stage here.
Result<std::shared_ptr<io::RangeClaim>> claim_here(const Plan& plan) {
    if (!staged(plan, session::Direction::get)) return std::shared_ptr<io::RangeClaim>();
    return io::claim_range(io::Root::machine(), plan.local_target.path, stage_of(*plan.range),
                           plan.range->range.bytes, plan.range->fence);
}

transfer::WalkRecord walk_of(const Plan& plan, transfer::WalkRecord walk) {
    for (const Item& item : plan.items)
        if (!item.top.empty()) walk.rules = rules_within(item.top, walk.rules);
    return walk;
}

mover::Setup make_setup(const Plan& plan, const session::Agreement& agreement,
                        const Connection& connection, const Arguments& arguments) {
    std::vector<mover::SourceName> sources;
    std::vector<transfer::WantRecord> wants;
    for (const Item& item : plan.items) {
        if (plan.direction == session::Direction::put) {
            sources.push_back({.path = item.path, .name = item.name, .named = item.named});
        } else {
            const bool found = item.named < item.path.size();
            wants.push_back(
                {.name = item.path.empty() ? "/" : item.path,
                 .pattern = item.pattern,
                 .contents = item.name == ".",
                 .found = static_cast<std::uint16_t>(found ? item.path.size() - item.named : 0)});
        }
    }
    transfer::SyncRecord what = arguments.plan;
    what.tells = !what.whole && plan.direction == session::Direction::get && !plan.done.empty();
    return mover::Setup{
        .terms = agreement.terms,
        .secret = {},
        .transfer = agreement.transfer,
        .is_client = true,
        .keep_names = plan.names_all ? transfer::NamesKept::all : transfer::NamesKept::top,
        .root = io::Root::machine(plan.trial),
        .range = range_of_source(plan),
        .sources = std::move(sources),
        .wants = std::move(wants),
        .walk = walk_of(plan, arguments.walk),
        .plan = std::move(what),
        .done_before = plan.done,
        .target = plan.local_target,
        .keep_series = plan.trial,
        .local = connection.local(),
        .peer = connection.peer(),
        .ports = agreement.ports,
        .socket_buffer = arguments.settings.socket_buffer,
        .allow_uring = arguments.settings.io_uring,
        .dial = {},
        .finished = {}};
}

BitRate limit_now(RateSchedule& schedule, Report& report) {
    if (const auto looked = schedule.look(); !looked) report.note(looked.error().sentence());
    return schedule.limit(minute_of_day());
}

// Of a sync from a server: a directory means its contents. Of a get that goes on: the target is it.
Result<void> settle_kind(Connection& connection, Plan& plan) {
    if (!std::exchange(plan.asks_kind, false)) return {};
    // Through a link, and of nothing but a directory.
    const auto reply = connection.exchange("MLST", plan.items.front().path + "/.");
    if (!reply) return reply.error();
    if (reply->code != 250) return {};
    if (plan.goes_on) {
        plan.local_target.into_directory = false;
    } else {
        become_contents(plan);
    }
    return {};
}

}  // namespace

Result<mover::Outcome> transfer(Plan& plan, const Arguments& arguments, std::string& token,
                                Report& report) {
    std::unique_ptr<ReceiptFile> receipt;
    if (!arguments.receipt.empty()) {
        auto begun = ReceiptFile::begin(arguments.receipt);
        if (!begun) return begun.error();
        receipt = *std::move(begun);
    }
    RateSchedule schedule(arguments.settings, arguments.rate_file);
    if (const auto looked = schedule.look(); !looked) {
        Error error = looked.error();
        error.fault = token.empty() ? Fault::usage : Fault::cut;  // it may be read at the next try
        return error;
    }
    const BitRate limit = schedule.limit(minute_of_day());
    session::Offer offer =
        make_offer(plan, arguments.settings, arguments.beside, limit, schedule.moves());
    offer.replaces = token;
    offer.terms.receipt = receipt != nullptr;
    offer.terms.sha256 = arguments.sha256;
    if (plan.direction == session::Direction::put) {  // we send; else the server knows its own
        const Result<void> law = sabul::check_law(offer.terms.congestion);
        if (!law) {
            Error error = law.error();
            error.fault = Fault::usage;
            return error;
        }
    }
    const auto here = stands_here(plan);
    if (!here) return here.error();
    if (*here) return nothing_to_move(plan);
    auto claim = claim_here(plan);
    if (!claim) return claim.error();
    auto connection = open_connection(
        plan.server, arguments.access(), [&](const std::string& text) { report.note(text); },
        offer.terms.stripes);
    if (!connection) return connection.error();
    const auto done = stands_there(**connection, plan);
    if (!done) return done.error();
    if (*done) return nothing_to_move(plan);
    if (const auto settled = settle_patterns(**connection, plan); !settled) return settled.error();
    if (const auto settled = settle_kind(**connection, plan); !settled) return settled.error();
    if (const auto settled = settle_range(**connection, plan); !settled) return settled.error();
    const PathStart path(plan, arguments.settings, arguments.beside);
    path.apply(**connection, limit, offer.terms);
    const auto agreement = dialling::agree(**connection, offer, plan.remote_target);
    if ((*connection)->logged_in()) report.session_stands();
    if (!agreement) return agreement.error();
    token = agreement->token;
    const auto secret = dialling::transfer_secret(**connection, offer, *agreement);
    if (!secret) return secret.error();
    mover::Setup setup = make_setup(plan, *agreement, **connection, arguments);
    setup.secret = *secret;
    setup.claim = *std::move(claim);
    if (receipt) {
        setup.receipt_lines = [file = receipt.get()](std::string_view lines) { file->take(lines); };
    }
    begin_landing(plan, agreement->into_directory);
    ProgressLine progress(report, now(), arguments.plan.whole);
    auto loop =
        dialling::TransferLoop::make(**connection, std::move(setup), agreement->token, progress);
    if (!loop) return loop.error();
    if (schedule.moves()) (*loop)->follow([&] { return limit_now(schedule, report); });
    mover::Outcome outcome = (*loop)->run();
    outcome.evidence.room = ring_room(arguments.settings, arguments.beside);
    path.learn(outcome);
    for (mover::FileFailure& failure : outcome.failures) {
        if (failure.error.side == Side::remote)
            failure.error.path = path_there(plan, agreement->into_directory, failure.name);
    }
    if (receipt && !outcome.cut) {
        const auto made =
            sign_receipt(**connection, plan, arguments.access(), agreement->into_directory,
                         outcome.receipt.value(), *receipt);
        if (!made && may_pass(made.error())) {
            outcome.cut = made.error();  // the next try finds all of it, and gets one
        } else if (!made) {
            report.error(made.error());
        }
    }
    stay_landed(plan, agreement->into_directory);
    return outcome;
}

namespace {

// Makes of `plan` what the next try does. A receipt has all of it: what is done by now, as what
// stood there already. False: it goes over what failed, too.
bool go_on(Plan& plan, const mover::Outcome& outcome, bool receipt) {
    if (!receipt) return drop_settled(plan, outcome);
    plan.done.insert(plan.done.end(), outcome.done.begin(), outcome.done.end());
    return false;
}

mover::Outcome cut_by(mover::Outcome outcome, const Error& why) {
    outcome.cut = why;
    return outcome;
}

// By a server that lets us log in and has no room for the transfer.
bool says_later(const Error& error) {
    return error.fault == Fault::cut && error.side == Side::remote;
}

// Dials again where the session is lost, the server is full, or another transfer writes a file, for
// as long as the user wants it.
Result<mover::Outcome> transfer_with_retries(Plan plan, const Arguments& arguments,
                                             Report& report) {
    std::uint64_t seed = 0;
    io::fill_random(std::as_writable_bytes(std::span(&seed, 1)));
    Retry retry(arguments.settings.retry_for, seed);
    Tries tries;
    std::string token;
    while (true) {
        const auto outcome = transfer(plan, arguments, token, report);
        if (outcome) {
            tries.add(*outcome);
            if (!outcome->cut && !dialling::busy_file(*outcome)) return tries.all();
            retry.stood(now(), dialling::moved_some(*outcome));
            if (!go_on(plan, *outcome, !arguments.receipt.empty())) tries.repeat();
            if (plan.items.empty()) {
                mover::Outcome all = tries.all();
                all.cut.reset();
                return all;
            }
        } else if (says_later(outcome.error())) {
            retry.stood(now(), false);
        }
        const bool busy = outcome && !outcome->cut;
        const Error lost = busy      ? *dialling::busy_file(*outcome)
                           : outcome ? *outcome->cut
                                     : outcome.error();
        const bool again = may_pass(lost) && !dialling::refused(lost) && !interrupted();
        const auto pause = again ? retry.pause(now()) : std::nullopt;
        if (!pause && !tries.any()) return lost;
        if (!pause) return busy ? tries.all() : cut_by(tries.all(), lost);
        report.note(passing(lost).sentence() + "; trying again in " + format_duration(*pause));
        pollfd user{.fd = interruption().fd(), .events = POLLIN, .revents = 0};
        poll_until({&user, 1}, now() + *pause);
        if (!interrupted()) continue;
        if (!tries.any()) return interruption_error();
        return cut_by(tries.all(), interruption_error());
    }
}

}  // namespace

void report_outcome(const mover::Outcome& outcome, Report& report) {
    for (const FailureLine& line : failure_lines(outcome.failures)) report.error(line);
    if (outcome.failed > outcome.failures.size()) {
        report.note(std::to_string(outcome.failed - outcome.failures.size()) +
                    " more files failed");
    }
    for (const mover::Skipped& skipped : outcome.skips) {
        report.note("skipped " + skipped.name + ": " + skipped.why);
    }
    if (outcome.skipped > outcome.skips.size()) {
        report.note(std::to_string(outcome.skipped - outcome.skips.size()) + " more were skipped");
    }
    report.unowned(outcome.unowned);
    if (outcome.cut) report.error(*outcome.cut);
    report.moved(outcome);
}

namespace {

void end_landing(const Plan& plan, const mover::Outcome& outcome, Report& report) {
    if (!plan.landing) return;
    const bool all_done = !outcome.cut && outcome.failed == 0;
    const bool over = all_done || (plan.landing->is_first() && made_nothing(outcome));
    plan.landing->ended(over);
    // Of a get that was of a file, there is nothing to say.
    std::error_code unknown;
    if (over || (plan.direction == session::Direction::get &&
                 !std::filesystem::is_directory(plan.local_target.path, unknown)))
        return;
    const std::string remedy = remedy_of(*plan.landing, plan.items.front().argument);
    if (!remedy.empty()) report.say(remedy);
}

// Whether a list was given that cannot be read again.
bool list_is_gone(const std::string& from_file) {
    std::error_code unknown;
    return from_file == "-" ||
           !(from_file.empty() || std::filesystem::is_regular_file(from_file, unknown));
}

void run(Plan plan, const Arguments& arguments, Report& report) {
    // Else the command itself is the list, of one name and of what never began.
    bool tells_more = list_is_gone(arguments.from_file);
    std::vector<std::string> left;
    const auto outcome = transfer_with_retries(plan, arguments, report);
    if (outcome) {
        report_outcome(*outcome, report);
        if (outcome->cut && !arguments.receipt.empty())
            report.say("no receipt was written, since nobody signs a transfer that was cut");
        tells_more = tells_more || plan.items.size() > 1;
        left = undone(plan, *outcome);
        end_landing(plan, *outcome, report);
    } else {
        report.error(outcome.error());
        if (plan.landing && plan.landing->is_first()) plan.landing->ended(true);  // nothing ran
        for (const Item& item : plan.items) left.push_back(item.argument);
    }
    if (arguments.plan.dry_run) return;  // nothing was to be done
    if (tells_more || !arguments.left_over.empty())
        keep_left_over(arguments.left_over, left, report);
}

// With the sources of --from-file before the destination; of an empty list that alone.
Result<std::vector<std::string>> all_operands(const Arguments& arguments) {
    std::vector<std::string> operands = arguments.operands;
    if (arguments.from_file.empty()) return operands;
    const auto content = read_whole_file(arguments.from_file);
    if (!content) return content.error();
    const std::vector<std::string> names = names_in(*content);
    operands.insert(operands.end() - 1, names.begin(), names.end());
    return operands;
}

void do_nothing(const Arguments& arguments, Report& report) {
    report.note(arguments.from_file + " names no source: nothing is to be done");
    if (!arguments.receipt.empty()) report.note("no receipt was written, since nothing was moved");
    report.moved({});
    if (!arguments.plan.dry_run) keep_left_over(arguments.left_over, {}, report);
}

Error of_one_file(const Item& item) {
    return usage(item.argument, "a range is of one file", "name it by itself");
}

void run_plan(Result<Plan> plan, const Arguments& arguments, Report& report) {
    if (!plan) return report.error(plan.error());
    if (auto apart = check_outputs(*plan, arguments); !apart) return report.error(apart.error());
    if (plan->items.empty()) return do_nothing(arguments, report);
    if (arguments.range.any()) {
        Item& item = plan->items.front();
        item.pattern = false;  // what is named is meant
        std::error_code unknown;
        const bool tree = plan->direction == session::Direction::put &&
                          std::filesystem::is_directory(item.path, unknown);
        if (item.name == "." || tree) return report.error(of_one_file(item));
        if (!arguments.range.stage.empty()) return stage(*plan, arguments, report);
        plan->range = PlannedRange{
            .range = {.bytes = *arguments.range.bytes, .version = {}}, .stage = {}, .fence = 0};
    } else if (!arguments.plan.whole) {
        plan->landing = Landing::of(*plan);
        if (recall_landing(*plan))
            report.note("lands in " +
                        (plan->direction == session::Direction::put
                             ? path_at_server(plan->remote_target) + " (on the server)"
                             : plan->local_target.path) +
                        " itself, as the run that was cut");
    }
    run(*std::move(plan), arguments, report);
}

}  // namespace

Result<mover::Outcome> move_once(Plan plan, const Arguments& arguments, Report& report) {
    std::string token;
    return transfer(plan, arguments, token, report);
}

void put(const Arguments& arguments, Report& report) {
    const auto operands = all_operands(arguments);
    if (!operands) return report.error(operands.error());
    run_plan(plan_put(*operands, !arguments.from_file.empty()), arguments, report);
}

void get(const Arguments& arguments, Report& report) {
    const auto operands = all_operands(arguments);
    if (!operands) return report.error(operands.error());
    run_plan(plan_get(*operands), arguments, report);
}

void sync(const Arguments& arguments, Report& report) {
    const auto operands = all_operands(arguments);
    if (!operands) return report.error(operands.error());
    if (operands->size() == 1) return run_plan(plan_sync(*operands), arguments, report);
    if (operands->size() != 2)
        return report.error(usage(arguments.from_file, "a sync has one source",
                                  "sync the directory that holds them"));
    if (between_servers(*operands)) {
        if (!arguments.receipt.empty() || arguments.sha256)
            return report.error(usage({},
                                      "between two servers there is neither a receipt nor --digest",
                                      "leave them out"));
        if (!arguments.rate_file.empty())
            return report.error(usage(arguments.rate_file,
                                      "between two servers no --rate-file is looked at",
                                      "say --rate-limit, which may be a timetable"));
        Arguments there = arguments;
        there.operands = *operands;
        return copy(there, report);
    }
    if (arguments.detach || arguments.connect != Connect::either ||
        !arguments.source_password_file.empty())
        return report.error(usage(
            {}, "--detach, --connect and --source-password-file are of a sync between two servers",
            "leave them out"));
    run_plan(plan_sync(*operands), arguments, report);
}

}  // namespace lambda::client
