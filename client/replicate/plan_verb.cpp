#include "client/replicate/plan_verb.h"

#include <algorithm>
#include <tuple>

#include "client/replicate/carrier.h"
#include "client/replicate/lanes.h"
#include "client/replicate/state_verbs.h"
#include "client/replicate/words.h"
#include "client/waiting.h"

namespace lambda::client::replicate {

Result<void> show_plan(const Job& job, const Access& access, Report& report) {
    const auto carrier = make_carrier(job, access);
    const auto source = carrier->scan();
    if (!source) return source.error();
    for (const Missed& missed : source->missed) report.error(missed.error);
    if (const auto more = source->untold()) report.error(*more);
    const bool nothing_seen = source->entries.empty() && !source->missed.empty();
    if (nothing_seen) return {};
    tell_skipped(*source, [&](const std::string& text) { report.note(text); });
    if (!job.windows.open(local_time()))
        report.note("a run would wait for the window: " + job.windows.text());
    for (std::uint32_t i = 0; i < job.sites.size(); ++i) {
        const auto there = carrier->look({.site = i}, *source);
        if (!there && interrupted()) return there.error();
        if (!there) {
            report.unreached(there.error());
            show(words_of_unreached(job.sites[i], there.error()), report);
            continue;
        }
        report.session_stands();
        SitePlan plan = plan_site(*source, *there, job.which, job.conflict);
        const auto entry = [&](const Step& step) -> const Entry& {
            return source->entries[step.entry];
        };
        std::sort(plan.steps.begin(), plan.steps.end(), [&](const Step& a, const Step& b) {
            return std::tie(entry(a).name, a.entry) < std::tie(entry(b).name, b.entry);
        });
        for (const Step& step : plan.steps)
            show(words_of_step(job, job.sites[i], entry(step), step.decision), report);
        show(words_of_plan(job.sites[i], plan, *source), report);
        const auto file = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
            return entry(step).standing.kind == Kind::file &&
                   step.decision.change != Change::refuse;
        });
        if (file == plan.steps.end()) continue;
        const auto passes = carrier->try_path(i, entry(*file));
        if (!passes && interrupted()) return passes.error();
        if (!passes && passes.error().fault == Fault::file) {
            report.error(passes.error());
        } else if (!passes) {
            report.unreached(passes.error());
            show(words_of_unreached(job.sites[i], passes.error()), report);
        }
    }
    return {};
}

}  // namespace lambda::client::replicate
