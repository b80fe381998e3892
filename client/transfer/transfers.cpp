#include "client/transfer/transfers.h"

#include <algorithm>
#include <filesystem>

#include "client/command_line/sources.h"
#include "client/command_line/usage.h"
#include "client/copy/copy_command.h"
#include "client/report/outcome.h"
#include "client/transfer/attempt.h"
#include "client/transfer/destination.h"
#include "client/transfer/landing.h"
#include "client/transfer/left_over.h"
#include "client/transfer/outputs.h"
#include "client/transfer/stage_command.h"
#include "client/waiting.h"
#include "common/base/units.h"
#include "common/dialling/retry.h"
#include "common/io/cipher/random.h"

namespace lambda::client {
namespace {

using dialling::may_pass;
using dialling::Retry;
using dialling::Tries;

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
        const auto outcome = attempt(plan, arguments, token, report);
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
        } else if (dialling::says_later(outcome.error())) {
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
