#include "client/trial/advice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lambda::client {
namespace {

constexpr std::size_t kMostNamed = 3;

// Of a title, what sets the case apart from others of its leg.
std::string without_leg(const TrialCase& what) {
    const std::string title = what.title();
    return title.substr(std::min(title.size(), std::string(what.leg.name).size() + 2));
}

bool told_apart(const CaseResult& a, const CaseResult& b) {
    const double sure = a.uncertainty() * a.gbit_per_s() + b.uncertainty() * b.gbit_per_s();
    return std::abs(a.gbit_per_s() - b.gbit_per_s()) > sure;
}

std::string choice_of(const std::vector<const CaseResult*>& cases) {
    const CaseResult& best = **std::max_element(
        cases.begin(), cases.end(),
        [](const auto* a, const auto* b) { return a->gbit_per_s() < b->gbit_per_s(); });
    const std::string begin =
        "fastest of " + std::string(best.what.leg.name) + ": " + without_leg(best.what);
    if (std::any_of(cases.begin(), cases.end(),
                    [](const auto* each) { return each->runs.size() < kLeastForInterval; }))
        return begin + "; too few runs to tell whether that is more than chance";
    std::string alike;
    std::size_t count = 0;
    for (const CaseResult* each : cases) {
        if (each == &best || told_apart(*each, best)) continue;
        if (++count <= kMostNamed) alike += (alike.empty() ? "" : "; ") + without_leg(each->what);
    }
    if (count > kMostNamed) alike += "; and " + std::to_string(count - kMostNamed) + " more";
    return begin + (alike.empty() ? ", by more than chance" : "; not told apart from it: " + alike);
}

std::string without_figures(const std::string& why) {
    return why.substr(0, std::min(why.find(':'), why.find(" (")));
}

// As --size takes it, a power of two.
std::string size_for(double bytes) {
    std::uint64_t mebibytes = 1;
    while (static_cast<double>(mebibytes * MiB) < bytes) mebibytes *= 2;
    return mebibytes < 1024 ? std::to_string(mebibytes) + "MiB"
                            : std::to_string(mebibytes / 1024) + "GiB";
}

// One size for all that were too short: the fastest needs the most.
std::string remedy_of_short(const std::vector<CaseResult>& cases) {
    double bytes = 0;
    for (const CaseResult& result : cases) {
        const auto verdict = result.verdict();
        if (verdict && verdict->cause == verdict::Cause::too_short)
            bytes = std::max(bytes, result.typical().gbit_per_s * 1e9 / 8);
    }
    return bytes > 0 ? "give --size " + size_for(bytes) + " or more, for runs of a second" : "";
}

}  // namespace

std::vector<std::string> advice_on_causes(const std::vector<CaseResult>& cases) {
    struct Remedy {
        std::string text, why;
        std::size_t cases;
    };
    std::vector<Remedy> remedies;
    const std::string longer = remedy_of_short(cases);
    for (const CaseResult& result : cases) {
        const auto verdict = result.verdict();
        if (!verdict || verdict->remedy.empty()) continue;
        const bool too_short = verdict->cause == verdict::Cause::too_short;
        const std::string text = too_short && !longer.empty() ? longer : verdict->remedy;
        // The same may be to be done at either end.
        const std::string why = without_figures(verdict->why);
        const auto known = std::find_if(remedies.begin(), remedies.end(), [&](const Remedy& each) {
            return each.text == text && each.why == why;
        });
        if (known != remedies.end()) {
            ++known->cases;
        } else {
            remedies.push_back({text, why, 1});
        }
    }
    std::stable_sort(remedies.begin(), remedies.end(),
                     [](const Remedy& a, const Remedy& b) { return a.cases > b.cases; });
    std::vector<std::string> sentences;
    for (const Remedy& each : remedies)
        sentences.push_back("what to change, of " + std::to_string(each.cases) + " of " +
                            std::to_string(cases.size()) +
                            (cases.size() == 1 ? " case" : " cases") + " (" + each.why +
                            "): " + each.text);
    return sentences;
}

std::vector<std::string> advice_on_choice(const std::vector<CaseResult>& cases) {
    std::vector<std::string> sentences;
    for (const Leg& leg : all_legs()) {
        std::vector<const CaseResult*> of_leg;
        for (const CaseResult& result : cases) {
            if (result.what.leg == leg) of_leg.push_back(&result);
        }
        if (of_leg.size() > 1) sentences.push_back(choice_of(of_leg));
    }
    return sentences;
}

std::string advice_on_intervals(const std::vector<CaseResult>& cases) {
    std::size_t wide = 0;
    double widest = 0;
    for (const CaseResult& result : cases) {
        wide += result.uncertainty() > kMostUncertainty ? 1 : 0;
        widest = std::max(widest, result.uncertainty());
    }
    if (wide == 0) return {};
    char text[320];
    std::snprintf(text, sizeof text,
                  "of %zu of %zu cases the 95 %% interval is wider than %.0f %% of the median to "
                  "either side (the widest: %.0f %%): give more --repetitions or a larger --size; "
                  "or other work on these machines or on the path disturbs them",
                  wide, cases.size(), 100 * kMostUncertainty, 100 * widest);
    return text;
}

std::vector<std::string> advice(const std::vector<CaseResult>& cases) {
    std::vector<std::string> sentences = advice_on_causes(cases);
    const std::vector<std::string> choice = advice_on_choice(cases);
    sentences.insert(sentences.end(), choice.begin(), choice.end());
    if (std::string wide = advice_on_intervals(cases); !wide.empty())
        sentences.push_back(std::move(wide));
    return sentences;
}

}  // namespace lambda::client
