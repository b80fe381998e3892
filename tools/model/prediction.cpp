#include "tools/model/prediction.h"

#include <algorithm>
#include <limits>

#include "tools/model/lemmas.h"

namespace lambda::model {
namespace {

constexpr double kFair = 1.05;          // the ratio of rates that counts as fair
constexpr double kLongestPhases = 5e5;  // rounds

// Counts phases of one mode.
struct Phases {
    Mode mode = Mode::increase;
    long length = 0;
    long decreases = 0, first_decrease = 0, last_decrease = 0;  // the rounds they began at
    bool whole = false;  // the present phase was seen from its beginning

    void take(Mode now, long round, Prediction& into) {
        if (now != mode) {
            if (now == Mode::decrease) {
                if (decreases++ == 0) first_decrease = round;
                last_decrease = round;
            }
            mode = now;
            length = 0;
            whole = true;
        }
        ++length;
        if (!whole) return;
        if (mode == Mode::increase) into.longest_increase = std::max(into.longest_increase, length);
        if (mode == Mode::decrease) into.longest_decrease = std::max(into.longest_decrease, length);
    }
};

// Rounds that one increase and one decrease may take.
long longest_phases(const Link& link, const sabul::MimdParameters& law, double rate_mbit) {
    const double k2_alpha = law.k2 * law.alpha;
    const Landmarks at = landmarks(link, law);
    if (k2_alpha <= 0 || k2_alpha >= 1 || at.limit_gap_us <= 0) return 0;
    const double increase =
        std::max(increase_bound(link, law, rate_mbit), increase_bound(link, law, at.least_mbit));
    const double decrease = law.c_us > 0 ? at.limit_gap_us / law.c_us : 0;
    return static_cast<long>(std::min(increase + decrease, kLongestPhases));
}

}  // namespace

const char* to_string(Course course) {
    switch (course) {
        case Course::oscillates:
            return "oscillates";
        case Course::locks:
            return "locks";
        case Course::rises:
            return "rises";
        case Course::stays:
            return "stays";
    }
    return "";
}

Prediction predict(const Link& link, const sabul::MimdParameters& law, double rate_mbit,
                   long rounds) {
    Recurrence model(link);
    model.add(law, rate_mbit);
    const long phases_bound = longest_phases(link, law, rate_mbit);
    for (long i = 0; i < rounds + phases_bound; ++i) model.step();
    rounds += 2 * phases_bound;
    Prediction told;
    told.least_mbit = std::numeric_limits<double>::infinity();
    Phases phases;
    phases.mode = model.flows()[0].mode;
    double carried = 0;
    for (long i = 0; i < rounds; ++i) {
        const double rate = model.rate_mbit(0);
        told.least_mbit = std::min(told.least_mbit, rate);
        told.most_mbit = std::max(told.most_mbit, rate);
        told.mean_mbit += rate;
        model.step();
        const Flow& flow = model.flows()[0];
        told.loss += flow.loss;
        carried += rate * (1 - flow.loss);
        phases.take(flow.mode, i, told);
    }
    const auto count = static_cast<double>(rounds);
    told.mean_mbit /= count;
    told.loss /= count;
    told.goodput = carried / count / link.service_mbit;
    if (law.k2 * law.alpha <= 0 && phases.decreases == 0 && phases.mode != Mode::decrease) {
        told.course = Course::stays;
    } else if (phases.decreases > 1) {
        told.period_rounds = static_cast<double>(phases.last_decrease - phases.first_decrease) /
                             static_cast<double>(phases.decreases - 1);
    } else if (phases.decreases == 0 && phases.mode != Mode::decrease) {
        told.course = phases.mode == Mode::steady ? Course::locks : Course::rises;
    }
    return told;
}

std::optional<long> first_decrease(const Link& link, const sabul::MimdParameters& law, long most) {
    Recurrence model(link);
    model.add(law, law.interface.bits_per_second / 1e6);
    for (long rounds = 0; rounds < most; ++rounds) {
        model.step();
        if (model.flows()[0].mode != Mode::decrease) return rounds;
    }
    return std::nullopt;
}

std::optional<long> rounds_to_fairness(const Link& link, const sabul::MimdParameters& law,
                                       double first_mbit, double second_mbit, long most) {
    Recurrence model(link);
    model.add(law, first_mbit);
    model.add(law, second_mbit);
    for (long rounds = 0; rounds < most; ++rounds) {
        const double a = model.rate_mbit(0), b = model.rate_mbit(1);
        if (std::max(a, b) < kFair * std::min(a, b)) return rounds;
        model.step();
    }
    return std::nullopt;
}

std::vector<double> shares(const Link& link, std::span<const Start> flows, Duration span) {
    Recurrence model(link);
    for (const Start& flow : flows) model.add(flow.law, flow.rate_mbit);
    const double end_us = seconds(span) * 1e6;
    while (model.now_us() < end_us / 2) model.step();
    std::vector<double> sums(flows.size(), 0);
    const double begin_us = model.now_us();
    while (model.now_us() < end_us) {
        std::vector<double> rates;
        for (std::size_t i = 0; i < flows.size(); ++i) rates.push_back(model.rate_mbit(i));
        const double before_us = model.now_us();
        model.step();
        for (std::size_t i = 0; i < flows.size(); ++i) {
            sums[i] += rates[i] * (model.now_us() - before_us);
        }
    }
    for (double& sum : sums) sum /= model.now_us() - begin_us;
    return sums;
}

}  // namespace lambda::model
