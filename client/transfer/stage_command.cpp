#include "client/transfer/stage_command.h"

#include "client/report/outcome.h"
#include "client/transfer/ranges.h"

namespace lambda::client {
namespace {

void carry(const StagedFile& file, const Arguments& arguments, Report& report) {
    Range bytes = *arguments.range.bytes;
    if (bytes.last == kToTheEnd) bytes.last = file.stage.source.size;
    const auto outcome = carry_range(file, bytes, arguments.range.fence, arguments, report);
    if (!outcome) return report.error(outcome.error());
    report_outcome(*outcome, report);
}

}  // namespace

void stage(const Plan& plan, const Arguments& arguments, Report& report) {
    const bool put = plan.direction == session::Direction::put;
    const std::string& source = plan.items.front().path;
    StagedFile file{.direction = plan.direction,
                    .server = plan.server,
                    .here = put ? source : plan.local_target.path,
                    .there = put ? plan.remote_target : source,
                    .stage = {.name = arguments.range.stage, .source = {}}};
    const auto version = version_of_source(file, arguments, report);
    if (!version) return report.error(version.error());
    file.stage.source = *version;
    if (arguments.range.bytes) return carry(file, arguments, report);
    const auto ordered = arguments.range.finish ? finish_file(file, arguments, report)
                                                : discard_ranges(file, arguments, report);
    if (!ordered) return report.error(ordered.error());
    report.note((put ? file.there : file.here) +
                (arguments.range.finish ? " is whole" : ": its ranges were discarded"));
}

}  // namespace lambda::client
