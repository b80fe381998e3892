#include "client/copy/copy_command.h"

#include <cstdio>

#include "client/copy/conduct.h"
#include "client/copy/hear.h"
#include "client/remote/remote_session.h"
#include "client/report/outcome.h"
#include "client/report/progress.h"
#include "client/report/utc_text.h"
#include "client/transfer/destination.h"
#include "client/transfer/landing.h"
#include "client/transfer/left_over.h"
#include "client/transfer/offer.h"
#include "client/waiting.h"
#include "common/base/units.h"
#include "common/dialling/retry.h"
#include "common/io/cipher/random.h"

namespace lambda::client {
namespace {

using dialling::may_pass;
using dialling::Retry;
using dialling::Tries;

// An Error or a FailureLine.
template <typename Told>
void report_error(const Told& told, std::optional<Role> role, Report& report) {
    if (!role) return report.error(told);
    report.error_at(to_string(*role), told);
}

// Names what failed by its path there, where `conductor` knows it.
void report_result(const session::CopyResult& result, std::optional<Role> dialler,
                   const CopyConductor* conductor, Report& report) {
    const auto side = [&](const Error& error) {
        return dialler ? role_of(error, *dialler) : std::nullopt;
    };
    std::vector<engine::FileFailure> failures = outcome_of(result).failures;
    for (engine::FileFailure& failure : failures) {
        const std::optional<Role> role = side(failure.error);
        if (role && conductor != nullptr)
            failure.error.path = conductor->path_at(*role, failure.name);
    }
    for (const FailureLine& line : failure_lines(failures))
        report_error(line, side(line.error), report);
    report_untold(result.failed, result.failures.size(), Side::remote, report);
    for (const auto& skip : result.skips) report.note("skipped " + skip.name + ": " + skip.why);
    if (result.skipped > result.skips.size()) {
        report.note(std::to_string(result.skipped - result.skips.size()) + " more were skipped");
    }
    if (result.unsaid > 0) {
        report.note(std::to_string(result.unsaid) + " changes have names too long to be told");
    }
    report.unowned(result.unowned);
    if (result.cut) report_error(*result.cut, side(*result.cut), report);
}

void tell_detached(std::uint64_t number, const Server& server, Report& report) {
    report.data(JsonObject().text("event", "detached").number("copy", number),
                "copy " + std::to_string(number) + " goes on by itself; see lambda-ftp copies " +
                    "lambda://" + (server.user.empty() ? "" : server.user + "@") +
                    server.endpoint());
}

// Until a try comes to its end, or the user's patience does. True: nothing is left to do.
bool conduct(CopyConductor& conductor, const CopyPlan& plan, const Arguments& arguments,
             Report& report) {
    std::uint64_t seed = 0;
    io::fill_random(std::as_writable_bytes(std::span(&seed, 1)));
    Retry retry(arguments.settings.retry_for, seed);
    Tries tries;
    std::optional<CopyTry> told;  // the last one, if it told what failed
    bool met = false;             // the servers each other
    const auto add = [&tries](mover::Outcome outcome) {
        tries.add(std::move(outcome));
        tries.repeat();
    };
    const auto add_cut = [&](bool anyway) {
        for (mover::Outcome& cut : conductor.take_cut(anyway)) {
            add(std::move(cut));
            told.reset();
        }
    };
    for (;;) {
        const auto done = conductor.run();
        met = met || done || conductor.agreed();
        add_cut(false);
        if (done && done->detached) {
            const bool at_source = done->dialler == Role::source;
            tell_detached(*done->detached, (at_source ? plan.source : plan.destination).server,
                          report);
            return true;
        }
        if (conductor.stood()) retry.stood(now(), conductor.moved());
        CopyError cut;
        if (done) {
            mover::Outcome outcome = outcome_of(done->result);
            outcome.evidence.room = ring_room(arguments.settings, arguments.beside);
            add(std::move(outcome));
            if (!done->result.cut) {
                report_result(done->result, done->dialler, &conductor, report);
                report.moved(tries.all());
                return done->result.failed == 0;
            }
            cut = {*done->result.cut, role_of(*done->result.cut, done->dialler)};
            told = done;
        } else {
            cut = conductor.error();
        }
        if (!conductor.stood() && dialling::says_later(cut.error)) retry.stood(now(), false);
        if (interrupted()) cut = {interruption_error(), std::nullopt};
        const bool refused = !conductor.stood() && dialling::refused(cut.error);
        const bool again =
            may_pass(cut.error) && !refused && !interrupted() && !(done && done->result.cancelled);
        const auto pause = again ? retry.pause(now()) : std::nullopt;
        if (pause) {
            const Error why = passing(cut.error);
            report.note((cut.role ? sentence_at(to_string(*cut.role), why) : why.sentence()) +
                        "; trying again in " + format_duration(*pause));
            pollfd user{.fd = interruption().fd(), .events = POLLIN, .revents = 0};
            poll_until({&user, 1}, now() + *pause);
            if (!interrupted()) continue;
            cut = {interruption_error(), std::nullopt};
        }
        add_cut(true);
        if (told) {  // files may have failed before
            told->result.cut.reset();
            report_result(told->result, told->dialler, &conductor, report);
        }
        if (conductor.unreached() && !met && cut.role) {
            report.unreached_at(to_string(*cut.role), cut.error);
        } else {
            report_error(cut.error, cut.role, report);
        }
        if (tries.any()) report.moved(tries.all());
        return false;
    }
}

std::string counted(std::uint64_t files) {
    return std::to_string(files) + (files == 1 ? " file" : " files");
}

std::string when_done(const session::CopyStatus& status) {
    if (status.state != session::CopyState::moving || status.rate == 0 ||
        status.total_bytes < status.bytes)
        return {};
    const double left = 8 * static_cast<double>(status.total_bytes - status.bytes) /
                        static_cast<double>(status.rate);
    return ", " + time_left(left);
}

std::string for_people(const session::CopyStatus& status) {
    const bool over =
        status.state != session::CopyState::moving && status.state != session::CopyState::dialling;
    const double share = status.total_bytes > 0 ? 100 * static_cast<double>(status.bytes) /
                                                      static_cast<double>(status.total_bytes)
                                                : 0;
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.1f%%", share);
    const std::string there =
        status.peer + (status.there.starts_with('/') ? "" : "/") + status.there;
    const bool fetches = status.direction == session::Direction::get;
    std::string text =
        "copy " + std::to_string(status.copy) + "  " + to_string(status.state) + "  ";
    const std::string ends = ": " + std::string(fetches ? "from " : "to ") + there +
                             (fetches ? " to " : " from ") + status.path;
    const bool done = status.state == session::CopyState::done;
    const std::uint64_t stood =
        done && status.files_known > status.files ? status.files_known - status.files : 0;
    if (stood > 0 && status.files == 0)
        return printable(text + "nothing to do: " + counted(stood) + " stood there already" + ends);
    const std::string stands =
        status.standstill.empty() ? "" : ", nothing moves: " + status.standstill;
    if (status.state == session::CopyState::moving && status.files_known == 0)
        return printable(text + "has begun" + stands + ends);
    const bool of_all = !over && status.total_bytes > 0;
    text +=
        of_all ? percent + (" of " + format_size(status.total_bytes)) : format_size(status.bytes);
    text += ", " + format_rate(BitRate{static_cast<double>(status.rate)}) + ", ";
    const std::uint64_t all = over ? status.files : status.files_known;
    text += (over ? "" : std::to_string(status.files) + " of ") + counted(all);
    if (stood > 0) text += "; " + counted(stood) + " stood there already";
    return printable(text + when_done(status) + stands + ends);
}

JsonObject for_programs(const session::CopyStatus& status) {
    return JsonObject()
        .text("event", "copy")
        .number("copy", status.copy)
        .text("state", to_string(status.state))
        .text("direction", status.direction == session::Direction::get ? "fetch" : "send")
        .text("peer", status.peer)
        .text("there", status.there)
        .text("path", status.path)
        .text("started", utc_text(static_cast<std::time_t>(status.started)))
        .number("bytes", status.bytes)
        .number("total_bytes", status.total_bytes)
        .number("files", status.files)
        .number("files_known", status.files_known)
        .number("bit_per_s", status.rate)
        .text("standstill", status.standstill);
}

Result<std::vector<session::CopyStatus>> copies_of(RemoteSession& session, Report& report) {
    auto queued = session.connection().send("COPY", session::format_copy_order({}));
    if (!queued) return queued.error();
    const auto reply = session.receive(report);
    if (!reply) return reply.error();
    if (!reply->positive()) return refusal(*reply, Fault::unsupported, {});
    std::vector<session::CopyStatus> copies;
    for (std::size_t i = 1; i + 1 < reply->lines.size(); ++i) {
        auto status = session::parse_copy_status(reply->lines[i]);
        if (!status) return dialling::senseless(status.error(), {});
        copies.push_back(*std::move(status));
    }
    return copies;
}

void list_copies(RemoteSession& session, Report& report) {
    const auto copies = copies_of(session, report);
    if (!copies) return report.error(copies.error());
    for (const session::CopyStatus& status : *copies)
        report.data(for_programs(status), for_people(status));
    if (copies->empty())
        report.note("no copy of this account runs at " + session.server().endpoint() +
                    ", and none ended lately");
}

// Of the one with this number.
Error refused(const session::Reply& reply, std::uint64_t number, const RemoteSession& session) {
    Error error = refusal(reply, Fault::file, {});
    error.message = "copy " + std::to_string(number) + ": " + error.message;
    const Server& server = session.server();
    if (reply.code == 550)
        error.remedy = "`lambda-ftp copies " + (server.user.empty() ? "" : server.user + "@") +
                       server.endpoint() + "` lists those of this account";
    return error;
}

void wait_for_copy(RemoteSession& session, std::uint64_t number, Report& report) {
    const auto copies = copies_of(session, report);
    if (!copies) return report.error(copies.error());
    std::optional<Role> dialler;
    for (const session::CopyStatus& status : *copies) {
        if (status.copy != number) continue;
        const bool fetches = status.direction == session::Direction::get;
        dialler = fetches ? Role::destination : Role::source;
    }
    auto queued = session.connection().send(
        "COPY",
        session::format_copy_order({.what = session::CopyOrder::What::wait, .copy = number}));
    if (!queued) return report.error(queued.error());
    const auto last = hear_copy(session.connection(), report, [](const auto&) {});
    if (session.connection().logged_in()) report.session_stands();
    if (!last) return report.error(last.error());
    auto result = session::parse_copy_result(*last);
    if (!result) return report.error(refused(*last, number, session));
    if (result->cut) result->cut->remedy.clear();  // to wait for it again is none
    report_result(*result, dialler, nullptr, report);
    report.moved(outcome_of(*result));
}

void cancel_copy(RemoteSession& session, std::uint64_t number, Report& report) {
    auto queued = session.connection().send(
        "COPY",
        session::format_copy_order({.what = session::CopyOrder::What::cancel, .copy = number}));
    if (!queued) return report.error(queued.error());
    const auto reply = session.receive(report);
    if (!reply) return report.error(reply.error());
    if (!reply->positive()) report.error(refused(*reply, number, session));
}

}  // namespace

void copy(const Arguments& arguments, Report& report) {
    auto plan = plan_copy(arguments.operands, arguments.walk.rules.empty());
    if (!plan) return report.error(plan.error());
    if (!arguments.plan.dry_run) {
        if (auto placed = check_left_over(arguments.left_over); !placed)
            return report.error(placed.error());
    }
    if (!arguments.plan.whole) plan->landing = Landing::of(*plan);
    CopyConductor conductor(*plan, arguments, report);
    const bool all_done = conduct(conductor, *plan, arguments, report);
    if (!arguments.left_over.empty() && !arguments.plan.dry_run)
        keep_left_over(arguments.left_over,
                       all_done ? std::vector<std::string>() : std::vector{plan->source.argument},
                       report);
    if (!plan->landing) return;
    // How one ends that goes on by itself is not known here.
    plan->landing->ended(conductor.landed_nothing() || (all_done && !arguments.detach));
    const std::string remedy = remedy_of(*plan->landing, plan->source.argument);
    if (!all_done && !conductor.landed_nothing() && !remedy.empty()) report.say(remedy);
}

void copies(const Arguments& arguments, Report& report) {
    auto session = RemoteSession::of_server(arguments.operands.front());
    if (!session) return report.error(session.error());
    if (auto opened = session->open(arguments, report); !opened) {
        return report.error(opened.error());
    }
    if (arguments.cancel) return cancel_copy(*session, *arguments.cancel, report);
    if (arguments.wait) return wait_for_copy(*session, *arguments.wait, report);
    list_copies(*session, report);
}

}  // namespace lambda::client
