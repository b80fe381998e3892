#include "client/report/summary.h"

#include <cmath>
#include <cstdio>

#include "client/report/text.h"
#include "common/base/units.h"
#include "common/transfer/sync_plan.h"

namespace lambda::client {
namespace {

double gbit_per_s(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? 8 * static_cast<double>(bytes) / seconds / 1e9 : 0;
}

std::string counted(std::uint64_t number, const char* what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// Of little data a thousandth of a Gbit/s tells nothing.
std::string rate_of(std::uint64_t bytes, double seconds) {
    const double gbit = gbit_per_s(bytes, seconds);
    if (gbit < 0.01) return format_rate(BitRate{1e9 * gbit});
    char text[32];
    std::snprintf(text, sizeof text, "%.3f Gbit/s", gbit);
    return text;
}

std::string stripes_json(const std::vector<mover::StripeOutcome>& stripes) {
    std::string list;
    for (const mover::StripeOutcome& stripe : stripes) {
        if (!list.empty()) list += ',';
        list += JsonObject()
                    .number("bytes", stripe.bytes)
                    .number("packets", stripe.packets)
                    .number("lost", stripe.lost)
                    .number("rtt_ms", stripe.rtt_ms > 0 ? stripe.rtt_ms : std::nan(""))
                    .line();
    }
    return "[" + list + "]";
}

std::string moved_line(const Summary& summary) {
    const mover::Outcome& o = summary.outcome;
    char time[64];
    std::snprintf(time, sizeof time, " moved in %.2f s", summary.seconds);
    std::string rates;
    if (o.bytes > 0)
        rates = ": " + rate_of(o.bytes, summary.seconds) + ", the transfer alone " +
                rate_of(o.bytes, o.transfer_seconds);
    std::string line = counted(o.files, "file") + " done, " + format_size(o.bytes) + time + rates +
                       "; " + std::to_string(o.verified) + " verified";
    // Where no file moved, packets are those that looked for the path.
    if (o.sent_packets > 0 && (o.bytes > 0 || o.lost_packets > 0)) {
        line += ", " + std::to_string(o.lost_packets) + " of " + std::to_string(o.sent_packets) +
                " packets lost";
    }
    return line;
}

// A sync tells of directories and links, too, that got other attributes.
std::string stood_line(const mover::Outcome& o, const ChangeCount& changes) {
    std::string line =
        counted(o.adopted, "file") + " stood there already, " + format_size(o.adopted_bytes);
    if (changes.attributes > 0) {
        line += "; " + std::to_string(changes.attributes) + " got other attributes";
    } else if (o.mended > 0) {
        line += "; " + std::to_string(o.mended) + " of them got other attributes";
    }
    if (o.deleted > 0) line += "; " + std::to_string(o.deleted) + " deleted";
    return line;
}

std::string dry_run_line(const Summary& summary) {
    const ChangeCount& c = summary.changes;
    return "dry run, nothing was touched: " + std::to_string(c.created) + " would be created, " +
           std::to_string(c.replaced) + " replaced, " + std::to_string(c.attributes) +
           " would get other attributes, " + std::to_string(c.deleted) + " would be deleted; " +
           format_size(c.bytes) + " would move; " + counted(summary.outcome.adopted, "file") +
           ", " + format_size(summary.outcome.adopted_bytes) + ", would stay";
}

}  // namespace

void ChangeCount::add(const std::string& word, const std::string& name, std::uint64_t size) {
    using What = transfer::Change::What;
    bytes += size;
    if (word == transfer::to_string(What::attributes) && named.size() < kMostNamed)
        named.insert(std::hash<std::string>()(name));
    for (const auto& [what, count] : {std::pair(What::create, &created),
                                      {What::replace, &replaced},
                                      {What::attributes, &attributes},
                                      {What::remove, &deleted}}) {
        if (word == transfer::to_string(what)) ++*count;
    }
}

void ChangeCount::take_off(const std::vector<mover::FileFailure>& failures) {
    for (const mover::FileFailure& failure : failures)
        attributes -= named.erase(std::hash<std::string>()(failure.name));
}

std::vector<std::string> summary_lines(const Summary& summary) {
    if (summary.dry_run) return {dry_run_line(summary)};
    const mover::Outcome& o = summary.outcome;
    std::vector<std::string> lines{moved_line(summary)};
    if (o.cuts > 0) {
        lines.push_back("went on after " + counted(o.cuts, "cut") +
                        ": what had not reached the disk by then moved again, and counts again");
    }
    if (o.bytes_kept > 0) {
        lines.push_back("went on where it was cut: " + format_size(o.bytes_kept) +
                        " more were there already and did not move again");
    }
    if (o.adopted + o.deleted + summary.changes.attributes > 0)
        lines.push_back(stood_line(o, summary.changes));
    return lines;
}

std::string summary_json(const Summary& summary, const std::string& verdict) {
    const mover::Outcome& o = summary.outcome;
    return JsonObject()
        .text("event", "summary")
        .number("files", o.files)
        .number("links", o.links)
        .number("directories", o.directories)
        .number("skipped", o.skipped)
        .number("bytes", o.bytes)
        .number("seconds", summary.seconds)
        .number("gbit_per_s", gbit_per_s(o.bytes, summary.seconds))
        .number("transfer_seconds", o.transfer_seconds)
        .number("transfer_gbit_per_s", gbit_per_s(o.bytes, o.transfer_seconds))
        .number("sent_packets", o.sent_packets)
        .number("lost_packets", o.lost_packets)
        .number("retransmitted_packets", o.retransmitted_packets)
        .number("refused_packets", o.refused_packets)
        .number("leaves_again", o.leaves_again)
        .number("leaves_changed", o.leaves_changed)
        .number("cuts", o.cuts)
        .number("bytes_kept", o.bytes_kept)
        .number("adopted", o.adopted)
        .number("adopted_bytes", o.adopted_bytes)
        .number("mended", o.mended)
        .number("deleted", o.deleted)
        .raw("dry_run", summary.dry_run ? "true" : "false")
        .number("created", summary.changes.created)
        .number("replaced", summary.changes.replaced)
        .number("attributes", summary.changes.attributes)
        .number("planned_bytes", summary.changes.bytes)
        .raw("stripes", stripes_json(o.stripes))
        .number("verified", o.verified)
        .raw("verdict", verdict)
        .raw("left_over", summary.left_over ? json_string(*summary.left_over) : "null")
        .line();
}

}  // namespace lambda::client
