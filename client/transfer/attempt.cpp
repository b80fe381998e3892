#include "client/transfer/attempt.h"

#include "client/receipt/signing.h"
#include "client/remote/server_names.h"
#include "client/report/progress.h"
#include "client/transfer/landing.h"
#include "client/transfer/offer.h"
#include "client/transfer/path_start.h"
#include "client/transfer/rate_schedule.h"
#include "client/transfer/stage.h"
#include "client/waiting.h"
#include "common/dialling/agreement.h"
#include "common/dialling/retry.h"
#include "common/dialling/transfer_loop.h"
#include "common/io/stage/stage.h"
#include "common/sabul/congestion/registry.h"

namespace lambda::client {
namespace {

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

Result<mover::Outcome> attempt(Plan& plan, const Arguments& arguments, std::string& token,
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
        if (!made && dialling::may_pass(made.error())) {
            outcome.cut = made.error();  // the next try finds all of it, and gets one
        } else if (!made) {
            report.error(made.error());
        }
    }
    stay_landed(plan, agreement->into_directory);
    return outcome;
}

Result<mover::Outcome> attempt_once(Plan plan, const Arguments& arguments, Report& report) {
    std::string token;
    return attempt(plan, arguments, token, report);
}

}  // namespace lambda::client
