#include "client/copy/hear.h"

#include "client/report/progress.h"
#include "client/waiting.h"
#include "common/dialling/retry.h"

namespace lambda::client {
namespace {

// A server tells of a running copy each second; before, it may dial and log in.
constexpr Duration kSilence = std::chrono::minutes(3);
// After an interruption it brings what came to the disk, and says what that is.
constexpr Duration kLastWords = std::chrono::seconds(10);

mover::Progress progress_of(const session::CopyStatus& status) {
    const bool fetches = status.direction == session::Direction::get;
    std::string standstill = status.standstill;
    if (!standstill.empty())
        standstill += std::string(" (says the ") +
                      to_string(fetches ? Role::destination : Role::source) + " server)";
    return {.bytes = status.bytes,
            .total_bytes = status.total_bytes,
            .files_done = status.files,
            .files_known = status.files_known,
            .lost_packets = status.lost_packets,
            .sent_packets = status.sent_packets,
            .rtt_ms = static_cast<double>(status.rtt_us) / 1e3,
            .rate_bits = static_cast<double>(status.rate),
            .current_name = {},
            .standstill = std::move(standstill)};
}

// After an interruption, which ends every other wait.
Result<session::Reply> hear_until(Connection& connection, Time deadline) {
    while (now() < deadline) {
        auto reply = connection.poll();
        if (!reply) return reply.error();
        if (*reply) return **std::move(reply);
        pollfd socket{.fd = connection.fd(), .events = connection.events(), .revents = 0};
        poll_until({&socket, 1}, deadline);
    }
    return interruption_error();
}

}  // namespace

std::optional<Role> role_of(const Error& error, Role dialler) {
    if (error.side == Side::network) return std::nullopt;
    return error.side == Side::local ? dialler : other(dialler);
}

mover::Outcome outcome_of(const session::CopyResult& result) {
    mover::Outcome outcome;
    outcome.files = result.files;
    outcome.links = result.links;
    outcome.directories = result.directories;
    outcome.skipped = result.skipped;
    for (const auto& skip : result.skips) outcome.skips.push_back({skip.name, skip.why});
    outcome.unowned = result.unowned;
    outcome.failed = result.failed;
    outcome.bytes = result.bytes;
    outcome.bytes_kept = result.bytes_kept;
    outcome.verified = result.verified;
    outcome.leaves_again = result.leaves_again;
    outcome.leaves_changed = result.leaves_changed;
    outcome.transfer_seconds = static_cast<double>(result.transfer_us) / 1e6;
    outcome.sent_packets = result.sent_packets;
    outcome.lost_packets = result.lost_packets;
    outcome.retransmitted_packets = result.retransmitted_packets;
    outcome.refused_packets = result.refused_packets;
    outcome.cut = result.cut;
    outcome.adopted = result.adopted;
    outcome.adopted_bytes = result.adopted_bytes;
    outcome.mended = result.mended;
    outcome.deleted = result.deleted;
    outcome.cuts = result.cuts;
    for (const auto& stripe : result.stripes) {
        outcome.stripes.push_back({.bytes = stripe.bytes,
                                   .packets = stripe.packets,
                                   .lost = stripe.lost,
                                   .rtt_ms = static_cast<double>(stripe.rtt_us) / 1e3});
    }
    for (const auto& [name, error] : result.failures) {
        outcome.failures.push_back({.name = name.empty() ? error.path : name, .error = error});
    }
    outcome.evidence = result.evidence;
    outcome.evidence.between_servers = true;
    return outcome;
}

mover::Outcome outcome_of(const session::CopyStatus& status, Duration since) {
    mover::Outcome outcome;
    outcome.files = outcome.verified = status.files;
    outcome.bytes = status.bytes;
    outcome.sent_packets = status.sent_packets;
    outcome.lost_packets = status.lost_packets;
    outcome.transfer_seconds = seconds(since);
    return outcome;
}

Result<session::Reply> hear_copy(Connection& connection, Report& report,
                                 const std::function<void(const session::CopyStatus&)>& moved) {
    ProgressLine progress(report, now());
    std::optional<Time> deadline;  // since it was interrupted
    for (;;) {
        auto reply = deadline ? hear_until(connection, *deadline) : connection.receive(kSilence);
        if (!reply && !deadline && interrupted()) {
            progress.ended();
            if (!connection.send("ABOR")) return interruption_error();
            deadline = now() + kLastWords;
            continue;
        }
        if (!reply || !reply->preliminary()) {
            progress.ended();
            const bool told = !deadline || (reply && session::parse_copy_result(*reply));
            return told ? std::move(reply) : interruption_error();
        }
        if (reply->code == 113) {
            const auto change = session::parse_copy_change(reply->text());
            if (!change) return dialling::senseless(change.error(), {});
            report.change(change->word, change->path, change->directory, change->size);
            continue;
        }
        const auto status = session::parse_copy_status(reply->text());
        if (!status) continue;
        moved(*status);
        if (!deadline && now() >= progress.next_look()) progress.look(progress_of(*status), now());
    }
}

}  // namespace lambda::client
