// What one run of a trial measured, and several runs of a case together (docs/trials.md). Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/mover/mover.h"
#include "common/verdict/verdict.h"

namespace lambda::client {

// Goodput of each stripe over time.
struct Rates {
    std::vector<double> seconds;               // where each interval ends
    std::vector<std::vector<double>> stripes;  // Mbit/s, for each stripe one for each interval
};

// What was not measured, as a round trip of a leg without a network.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Measures {
    std::uint64_t bytes = 0;
    double seconds = 0;           // from the first data packet to the last byte durable
    double gbit_per_s = 0;        // of file bytes, in that time
    double mean_mbit = kUnknown;  // throughput efficiency: the mean over `rates`
    double variation = kUnknown;  // stability: its coefficient of variation
    double jain = kUnknown;       // among the stripes' bytes; 1: all alike
    double loss = kUnknown;       // share of the data packets sent
    std::uint64_t sent_packets = 0, lost_packets = 0, retransmitted_packets = 0;
    double rtt_ms = kUnknown;    // the least, and ...
    double queue_ms = kUnknown;  // ... how much longer in the mean
    double sender_cpu_s_per_gb = kUnknown, receiver_cpu_s_per_gb = kUnknown;  // GB: 1e9 bytes
    double source_wait_s = kUnknown, destination_wait_s = kUnknown, network_wait_s = kUnknown;
    double memory_mib = kUnknown;  // this process's most so far
    Rates rates;
    std::optional<verdict::Evidence> evidence;  // none of a leg without a network
};

// Intervals of a tenth of a second or more, 256 at most.
Rates rates_of(const engine::Series& series);
Measures measures_of(const mover::Outcome& outcome);

double coefficient_of_variation(
    const std::vector<double>& values);     // of the sample; 0 of fewer than 2
double median(std::vector<double> values);  // 0 of none; kUnknown where one is

// The mean's interval at 95 % by Student's t. Of fewer none: of two his factor is 12.7, and how far
// these happen to lie apart says next to nothing.
constexpr std::size_t kLeastForInterval = 3;
struct Interval {
    double low = 0, high = 0;
};
std::optional<Interval> confidence(const std::vector<double>& values);

}  // namespace lambda::client
