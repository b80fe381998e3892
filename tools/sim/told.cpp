#include "tools/sim/told.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

namespace lambda::simulation {

double rounded(double value) {
    return std::round(value * 1e4) / 1e4;
}

std::string json_of(const FlowsResult& result) {
    nlohmann::ordered_json told;
    for (const FlowResult& flow : result.flows) {
        told["flows"].push_back({{"law", flow.law},
                                 {"mean_mbit", rounded(flow.mean_mbit)},
                                 {"cov", rounded(flow.cov)},
                                 {"lost_packets", flow.lost_packets},
                                 {"sent_packets", flow.sent_packets},
                                 {"stripes_jain", rounded(flow.stripes_jain)},
                                 {"reached_ms", rounded(flow.reached_ms)},
                                 {"rtt_settled_ms", rounded(flow.rtt_settled_ms)}});
    }
    told["sum_mbit"] = rounded(result.sum_mbit);
    told["sum_cov"] = rounded(result.sum_cov);
    told["utilisation"] = rounded(result.utilisation);
    told["jain"] = rounded(result.jain);
    told["spread"] = rounded(result.spread);
    told["queue_mean_bytes"] = rounded(result.queue_mean_bytes);
    told["queue_p10_bytes"] = rounded(result.queue_p10_bytes);
    told["correlation"] = rounded(result.correlation);
    told["queue_mean_ms"] = rounded(result.queue_mean_ms);
    told["queue_p10_bdp"] = rounded(result.queue_p10_bdp);
    told["settled_ms"] = rounded(result.settled_ms);
    told["sent_settled_ms"] = rounded(result.sent_settled_ms);
    return told.dump();
}

void print(const FlowsResult& result) {
    std::printf("%-12s %10s %8s %10s %10s\n", "law", "Mbit/s", "CoV", "lost", "sent");
    for (const FlowResult& flow : result.flows) {
        std::printf("%-12s %10.1f %8.3f %10llu %10llu\n", flow.law.c_str(), flow.mean_mbit,
                    flow.cov, static_cast<unsigned long long>(flow.lost_packets),
                    static_cast<unsigned long long>(flow.sent_packets));
    }
    std::printf("sum %.1f Mbit/s (CoV %.3f), utilisation %.4f, Jain %.4f, correlation %.2f\n",
                result.sum_mbit, result.sum_cov, result.utilisation, result.jain,
                result.correlation);
    std::printf("queue: mean %.0f bytes, standing %.0f bytes\n", result.queue_mean_bytes,
                result.queue_p10_bytes);
}

void write_csv(std::ostream& out, const FlowsResult& result, const std::string& run) {
    if (!run.empty()) out << "run,";
    out << "seconds,queue_ms";
    for (std::size_t i = 0; i < result.flows.size(); ++i)
        out << ",mbit_" << i + 1 << ",sent_mbit_" << i + 1 << ",rtt_ms_" << i + 1;
    out << "\n";
    for (std::size_t bin = 0; bin < result.queue_ms.size(); ++bin) {
        if (!run.empty()) out << run << ",";
        out << rounded(seconds(kBin) * static_cast<double>(bin + 1)) << "," << result.queue_ms[bin];
        for (const FlowResult& flow : result.flows)
            out << "," << flow.mbit[bin] << "," << flow.sent_mbit[bin] << "," << flow.rtt_ms[bin];
        out << "\n";
    }
}

}  // namespace lambda::simulation
