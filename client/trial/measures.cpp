#include "client/trial/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/base/jain.h"

namespace lambda::client {
namespace {

constexpr double kLeastInterval = 0.1;  // seconds: ten SYN
constexpr std::size_t kMostIntervals = 256;

bool any_unknown(const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [](double each) { return std::isnan(each); });
}

double mean(const std::vector<double>& values) {
    if (values.empty()) return 0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
    if (values.size() < 2) return 0;
    const double middle = mean(values);
    double sum = 0;
    for (const double value : values) sum += (value - middle) * (value - middle);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Two-sided, 95 %; by degrees of freedom. Beyond the table: the normal law's.
double students_t(std::size_t freedom) {
    constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    return freedom <= kTable.size() ? kTable[freedom - 1] : 1.960;
}

double in_seconds(const verdict::Figures& figures, std::initializer_list<verdict::Figure> which) {
    double sum = 0;
    for (const verdict::Figure figure : which) sum += static_cast<double>(figures[figure]) / 1e6;
    return sum;
}

void add_evidence(Measures& run, const verdict::Evidence& evidence) {
    using verdict::Figure;
    const double gigabytes = static_cast<double>(run.bytes) / 1e9;
    run.evidence = evidence;
    if (evidence.sender[Figure::least_rtt] > 0) {  // a round trip was taken
        run.rtt_ms = static_cast<double>(evidence.sender[Figure::least_rtt]) / 1e3;
        run.queue_ms = static_cast<double>(evidence.sender[Figure::queue]) / 1e3;
    }
    if (gigabytes > 0) {
        run.sender_cpu_s_per_gb = in_seconds(evidence.sender, {Figure::cpu}) / gigabytes;
        run.receiver_cpu_s_per_gb = in_seconds(evidence.receiver, {Figure::cpu}) / gigabytes;
    }
    run.source_wait_s = in_seconds(evidence.sender, {Figure::source});
    run.destination_wait_s = in_seconds(evidence.receiver, {Figure::disk});
    run.network_wait_s = in_seconds(
        evidence.sender, {Figure::window, Figure::law_window, Figure::buffer, Figure::pace,
                          Figure::limit, Figure::socket, Figure::tail, Figure::silence});
}

}  // namespace

Rates rates_of(const engine::Series& series) {
    Rates rates;
    rates.stripes.resize(series.stripes());
    if (series.points() < 2) return rates;
    const double whole = series.seconds_at(series.points() - 1);
    const double interval = std::max(kLeastInterval, whole / kMostIntervals);
    std::size_t before = 0;
    for (std::size_t at = 1; at < series.points(); ++at) {
        const double elapsed = series.seconds_at(at) - series.seconds_at(before);
        if (elapsed < interval) continue;
        rates.seconds.push_back(series.seconds_at(at));
        for (std::size_t stripe = 0; stripe < series.stripes(); ++stripe) {
            const auto bytes = series.total(at, stripe) - series.total(before, stripe);
            rates.stripes[stripe].push_back(8e-6 * static_cast<double>(bytes) / elapsed);
        }
        before = at;
    }
    return rates;
}

Measures measures_of(const mover::Outcome& outcome) {
    Measures run{.bytes = outcome.bytes,
                 .seconds = outcome.transfer_seconds,
                 .sent_packets = outcome.sent_packets,
                 .lost_packets = outcome.lost_packets,
                 .retransmitted_packets = outcome.retransmitted_packets,
                 .rates = rates_of(outcome.series),
                 .evidence = {}};
    if (run.seconds > 0) run.gbit_per_s = 8e-9 * static_cast<double>(run.bytes) / run.seconds;
    if (run.sent_packets > 0)
        run.loss = static_cast<double>(run.lost_packets) / static_cast<double>(run.sent_packets);
    std::vector<double> shares, sums(run.rates.seconds.size());
    for (const mover::StripeOutcome& stripe : outcome.stripes)
        shares.push_back(static_cast<double>(stripe.bytes));
    for (const auto& stripe : run.rates.stripes)
        for (std::size_t i = 0; i < stripe.size(); ++i) sums[i] += stripe[i];
    run.jain = jain(shares);
    if (!sums.empty()) {  // else it ended before the first interval did
        run.mean_mbit = mean(sums);
        run.variation = coefficient_of_variation(sums);
    }
    add_evidence(run, outcome.evidence);
    return run;
}

double coefficient_of_variation(const std::vector<double>& values) {
    const double middle = mean(values);
    return middle > 0 ? deviation(values) / middle : 0;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    if (any_unknown(values)) return kUnknown;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Interval> confidence(const std::vector<double>& values) {
    if (values.size() < kLeastForInterval || any_unknown(values)) return std::nullopt;
    const double middle = mean(values);
    const double half = students_t(values.size() - 1) * deviation(values) /
                        std::sqrt(static_cast<double>(values.size()));
    return Interval{std::max(0.0, middle - half), middle + half};
}

}  // namespace lambda::client
