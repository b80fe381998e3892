#include "client/trial/page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "client/trial/advice.h"
#include "common/verdict/wording.h"

namespace lambda::client {
namespace {

using report::fixed;
using report::significant;

// A page has room for so many cases over time.
constexpr std::size_t kMostOverTime = 48;

// What can be on the axis of a sweep, the first that varies.
struct Axis {
    const char* name;
    double (*of)(const TrialCase&);
};
constexpr Axis kAxes[] = {
    {"stripes", [](const TrialCase& c) { return static_cast<double>(c.settings.stripes); }},
    {"size, MiB", [](const TrialCase& c) { return static_cast<double>(c.size) / MiB; }},
    {"payload, bytes", [](const TrialCase& c) { return static_cast<double>(c.settings.payload); }},
};

struct Quantity {
    const char* title;
    const char* unit;
    double (*of)(const Measures&);
};
constexpr Quantity kQuantities[] = {
    {"Goodput", "Gbit/s", [](const Measures& m) { return m.gbit_per_s; }},
    {"Stability: coefficient of variation", "of the mean",
     [](const Measures& m) { return m.variation; }},
    {"Loss", "% of packets", [](const Measures& m) { return 100 * m.loss; }},
    {"Queue delay", "ms", [](const Measures& m) { return m.queue_ms; }},
    {"Processor at the sender", "s for each GB",
     [](const Measures& m) { return m.sender_cpu_s_per_gb; }},
    {"Processor at the receiver", "s for each GB",
     [](const Measures& m) { return m.receiver_cpu_s_per_gb; }},
};

std::vector<double> values_of(const CaseResult& result, const Quantity& quantity) {
    std::vector<double> values;
    for (const Measures& run : result.runs) values.push_back(quantity.of(run));
    return values;
}

double middle(const CaseResult& result, double (*of)(const Measures&)) {
    std::vector<double> values;
    for (const Measures& run : result.runs) values.push_back(of(run));
    return median(std::move(values));
}

std::string verdict_of(const CaseResult& result) {
    const auto verdict = result.verdict();
    return verdict ? verdict::title_of(verdict->cause) : "";
}

report::Table case_table(const TrialStory& story) {
    report::Table table;
    table.head = {"case",
                  "Gbit/s",
                  "95 % from",
                  "to",
                  "verdict",
                  "runs",
                  "efficiency, Mbit/s",
                  "variation",
                  "Jain",
                  "loss %",
                  "again %",
                  "RTT ms",
                  "queue ms",
                  "CPU s/GB sender",
                  "receiver",
                  "waits s: source",
                  "network",
                  "destination",
                  "memory MiB"};
    if (story.before) table.head.push_back("before");
    for (const CaseResult& result : story.cases) {
        const auto interval = confidence(result.rates());
        const Measures& m = result.typical();
        const double again = m.sent_packets == 0
                                 ? kUnknown
                                 : 100 * static_cast<double>(m.retransmitted_packets) /
                                       static_cast<double>(m.sent_packets);
        table.rows.push_back(
            {result.what.title(), fixed(result.gbit_per_s(), 3),
             interval ? fixed(interval->low, 3) : "-", interval ? fixed(interval->high, 3) : "-",
             verdict_of(result), std::to_string(result.runs.size()),
             fixed(middle(result, [](const Measures& r) { return r.mean_mbit; }), 1),
             fixed(middle(result, [](const Measures& r) { return r.variation; }), 3),
             fixed(m.jain, 4), significant(100 * m.loss, 3), significant(again, 3),
             fixed(m.rtt_ms, 2), fixed(m.queue_ms, 2), fixed(m.sender_cpu_s_per_gb, 3),
             fixed(m.receiver_cpu_s_per_gb, 3), fixed(m.source_wait_s, 2),
             fixed(m.network_wait_s, 2), fixed(m.destination_wait_s, 2), fixed(m.memory_mib, 0)});
        if (story.before) {
            const auto change = change_since(*story.before, result);
            table.rows.back().push_back(change ? change->sentence() : "-");
        }
    }
    return table;
}

const char* const kColumns =
    "efficiency: the mean of the throughput over the run, in intervals of 0.1 s or more\n"
    "variation: standard deviation of that throughput by its mean; 0: steady\n"
    "Jain: Jain's index of the stripes' bytes; 1: all carried the same\n"
    "again %: of the data packets sent, those that were sent again";

// The case without what is on the axis and without what nothing varies: the name of a line.
std::string line_name(const TrialCase& what, const Axis& axis, const std::vector<CaseResult>& all) {
    std::string name;
    const auto add = [&](const std::string& part, auto&& of) {
        const bool varies = std::any_of(all.begin(), all.end(), [&](const CaseResult& other) {
            return of(other.what) != of(what);
        });
        if (varies) name += (name.empty() ? "" : ", ") + part;
    };
    const std::string_view across = axis.name;
    add(what.settings.congestion, [](const TrialCase& c) { return c.settings.congestion; });
    if (across != kAxes[0].name)
        add(std::to_string(what.settings.stripes) + " stripes",
            [](const TrialCase& c) { return c.settings.stripes; });
    if (across != kAxes[1].name)
        add(format_size(what.size), [](const TrialCase& c) { return c.size; });
    if (across != kAxes[2].name)
        add("payload " + std::to_string(what.settings.payload),
            [](const TrialCase& c) { return c.settings.payload; });
    const auto protection = [](const TrialCase& c) { return c.settings.protection; };
    add(session::to_string(what.settings.protection), protection);
    return name.empty() ? what.leg.name : name;
}

report::Chart sweep(const std::vector<CaseResult>& cases, const Axis& axis,
                    const Quantity& quantity) {
    std::set<double> across;
    std::vector<std::string> names;
    for (const CaseResult& result : cases) {
        across.insert(axis.of(result.what));
        const std::string name = line_name(result.what, axis, cases);
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    report::Chart chart{.title = quantity.title, .unit = quantity.unit, .seconds = {}, .lines = {}};
    chart.across = axis.name;
    chart.seconds.assign(across.begin(), across.end());
    for (const std::string& name : names) {
        const std::vector<double> none(across.size(), kUnknown);
        chart.lines.push_back({.name = name, .values = none, .low = none, .high = none});
    }
    for (const CaseResult& result : cases) {
        const std::string name = line_name(result.what, axis, cases);
        report::Line& line = chart.lines[static_cast<std::size_t>(
            std::find(names.begin(), names.end(), name) - names.begin())];
        const auto at = static_cast<std::size_t>(
            std::distance(across.begin(), across.find(axis.of(result.what))));
        const std::vector<double> values = values_of(result, quantity);
        line.values[at] = median(values);
        if (const auto interval = confidence(values)) {
            line.low[at] = interval->low;
            line.high[at] = interval->high;
        }
    }
    return chart;
}

// The axis of the leg's sweep; null where nothing varies that is a number.
const Axis* axis_of(const std::vector<CaseResult>& cases) {
    for (const Axis& axis : kAxes) {
        if (std::any_of(cases.begin(), cases.end(), [&](const CaseResult& result) {
                return axis.of(result.what) != axis.of(cases.front().what);
            }))
            return &axis;
    }
    return nullptr;
}

report::Bars stage_bars(const CaseResult& result) {
    const verdict::Verdict verdict = verdict::judge(*result.typical().evidence);
    const verdict::Stages& stages = verdict.stages;
    return {.title = result.what.title(),
            .text = verdict.sentence(),
            .parts = {{"source disk", stages.source_disk},
                      {"sender CPU", stages.sender_cpu},
                      {"path", stages.path},
                      {"receiver CPU", stages.receiver_cpu},
                      {"destination disk", stages.destination_disk}}};
}

report::Chart over_time(const CaseResult& result) {
    const Rates& rates = result.typical().rates;
    report::Chart chart{
        .title = result.what.title(), .unit = "Mbit/s", .seconds = rates.seconds, .lines = {}};
    for (std::size_t i = 0; i < rates.stripes.size(); ++i)
        chart.lines.push_back({.name = "stripe " + std::to_string(i), .values = rates.stripes[i]});
    return chart;
}

report::Section leg_section(const Leg& leg, const std::vector<CaseResult>& cases) {
    report::Section section{.title = leg.name, .text = {}, .tables = {}, .charts = {}};
    if (const Axis* axis = axis_of(cases)) {
        section.text = "Medians; bands: the 95 % confidence intervals of the means.";
        for (const Quantity& quantity : kQuantities) {
            if (std::any_of(cases.begin(), cases.end(), [&](const CaseResult& result) {
                    return std::isfinite(median(values_of(result, quantity)));
                }))
                section.charts.push_back(sweep(cases, *axis, quantity));
        }
    }
    return section;
}

report::Section verdict_section(const std::vector<CaseResult>& cases) {
    report::Section section{
        .title = "What held it back",
        .text = "The share of the time that each stage was at work or waited for. They overlap.",
        .tables = {},
        .charts = {}};
    for (const CaseResult& result : cases)
        if (result.typical().evidence) section.bars.push_back(stage_bars(result));
    return section;
}

report::Section time_section(const std::vector<CaseResult>& cases) {
    report::Section section{.title = "Goodput of each stripe over time",
                            .text = "Of the run that is nearest to the median of its case.",
                            .tables = {},
                            .charts = {}};
    for (const CaseResult& result : cases) {
        if (section.charts.size() == kMostOverTime) {
            section.text += " Of the first " + std::to_string(kMostOverTime) + " cases.";
            break;
        }
        // A single point is no course.
        if (result.typical().rates.seconds.size() > 1) section.charts.push_back(over_time(result));
    }
    return section;
}

report::Section beside_section(const TrialStory& story) {
    report::Section section{
        .title = "Beside it, and left out", .text = {}, .tables = {}, .charts = {}};
    for (const std::string& line : story.beside) section.text += line + "\n";
    for (const Skip& skip : story.skips)
        section.text += "skipped " + skip.leg + ": " + skip.why + "\n";
    return section;
}

}  // namespace

report::Page trial_page(const TrialStory& story) {
    report::Page page{.title = "Trial of the path to " + story.origin.server,
                      .text = story.origin.sentence(),
                      .command = story.origin.command,
                      .sections = {}};
    std::string about = "Medians of the runs of each case, the 95 % confidence interval (of " +
                        std::to_string(kLeastForInterval) +
                        " runs or more), and what held the run back that is nearest to the median.";
    for (const std::string& sentence : advice(story.cases)) about += "\n" + sentence + ".";
    page.sections.push_back(
        {.title = "Cases", .text = about, .tables = {case_table(story)}, .charts = {}});
    page.sections.push_back({.title = {}, .text = kColumns, .tables = {}, .charts = {}});
    for (const Leg& leg : all_legs()) {
        std::vector<CaseResult> of_leg;
        std::copy_if(story.cases.begin(), story.cases.end(), std::back_inserter(of_leg),
                     [&](const CaseResult& result) { return result.what.leg == leg; });
        if (of_leg.empty()) continue;
        report::Section section = leg_section(leg, of_leg);
        if (!section.charts.empty()) page.sections.push_back(std::move(section));
    }
    page.sections.push_back(verdict_section(story.cases));
    page.sections.push_back(time_section(story.cases));
    if (!story.beside.empty() || !story.skips.empty())
        page.sections.push_back(beside_section(story));
    return page;
}

}  // namespace lambda::client
