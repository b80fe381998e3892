// Transfers that share one bottleneck in virtual time, each with its own law, round trip and
// beginning; and what is measured of them. Rates are of file bytes. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::simulation {

struct FlowSettings {
    std::string law = "sabul";
    Duration rtt = std::chrono::milliseconds(100);
    BitRate initial{1e6};
    BitRate highest{0};  // 0: none
    BitRate known{0};    // that the path carried lately; 0: nothing is known
    std::uint16_t stripes = 1;
    Duration syn = std::chrono::milliseconds(10);
    Duration start{0};
    Duration start_within{0};       // later by what the seed draws, up to this
    std::uint64_t bytes = 0;        // ends after these; 0: never
    std::optional<BitRate> access;  // a link of its own for each stripe, before the bottleneck
};

// What happens to the path at a time. Only what is set changes.
struct PathChange {
    Duration at{0};
    std::optional<BitRate> capacity;
    std::optional<Duration> rtt;  // of every flow
    std::optional<double> loss;
};

struct FlowsScenario {
    BitRate capacity{1e9};
    double queue_bytes = 12.5e6;
    Duration duration = std::chrono::seconds(60);
    double loss = 0;
    double burst = 1;             // mean length of a run of losses
    Duration jitter{0};           // of each packet on its way, order kept
    Duration lateness{0};         // of the receiver's wake-ups
    Duration stamp_noise{0};      // of their times of arrival
    double clock_drift = 0;       // of the receiver's clock
    Duration feedback_jitter{0};  // of each feedback record, order kept
    double feedback_loss = 0;     // of them; TCP sends again
    Duration pause_every{0};      // in the mean; 0: the path never stands still
    Duration pause{0};            // the longest
    std::uint64_t seed = 1;
    std::optional<Duration> from;  // measured from here; the second half where it is not said
    std::vector<FlowSettings> flows;
    std::vector<PathChange> changes;
};

struct FlowResult {
    std::string law;
    double mean_mbit = 0;  // while it is measured
    double cov = 0;        // coefficient of variation of bins of 100 ms, likewise
    std::uint64_t lost_packets = 0, sent_packets = 0;
    double stripes_jain = 1;
    // From the first data packet until a rate of 90 % of the capacity is received; negative: never.
    double reached_ms = -1;
    // From a change of the round trip until the smoothed one is within 10 % of it for good, up to
    // the next change of the path; of the slowest, negative where one never is. By bins.
    double rtt_settled_ms = 0;
    std::vector<float> mbit;       // of each bin
    std::vector<float> sent_mbit;  // likewise, as it leaves the sender: in full packets, each time
    std::vector<float> lost;       // packets known to be lost, of each bin
    std::vector<float> rtt_ms;     // smoothed, at the end of each bin
};

// Of what is measured, as of the flows; the capacity too.
struct FlowsResult {
    std::vector<FlowResult> flows;
    double sum_mbit = 0;
    double sum_cov = 0;
    double utilisation = 0;  // of the mean capacity for file bytes in packets of 1,500 bytes
    double jain = 1;
    double spread = 0;  // coefficient of variation of mean_mbit over the flows without a size
    double queue_mean_bytes = 0;
    double queue_mean_ms = 0;    // at the mean capacity
    double queue_p10_bytes = 0;  // the standing queue
    double queue_p10_bdp = 0;    // the same, in products of capacity and mean round trip
    double correlation = 0;      // mean over the pairs of flows, at lag 0
    // From a change of the path until each second's mean is within 10 % of the capacity then in
    // force, up to the next change; of the slowest, negative where one never is. By bins.
    double settled_ms = 0;
    // The same of what leaves the senders, and until the end of a bin that is within 10 %, too.
    double sent_settled_ms = 0;
    std::size_t first_bin = 0;  // that is measured
    std::uint64_t dropped_packets = 0;
    std::vector<float> queue_ms;  // at the end of each bin
};

constexpr Duration kBin = std::chrono::milliseconds(100);
constexpr std::size_t kSecond = 10;  // bins

// From where on a run is measured: a bound of bins.
Duration measured_from(const FlowsScenario& scenario);

// In seconds, over the flows.
double mean_rtt(const FlowsScenario& scenario);

// What leaves all senders, of each bin.
std::vector<float> sent_mbit(const FlowsResult& result);

// Of file bytes, where the link is full of packets of 1,500 bytes.
double payload_mbit(BitRate capacity);

FlowsResult run_flows(const FlowsScenario& scenario);

}  // namespace lambda::simulation
