#include "tools/lab/counters.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/units.h"

namespace lambda::lab {
namespace {

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %%", share * 100);
    return text;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string direction_text(const char* name, const LinkCounters& link, double time) {
    const auto count = [](std::uint64_t value) { return std::to_string(value); };
    const auto size = [](double bytes) { return format_size(static_cast<std::uint64_t>(bytes)); };
    char wait[64];
    std::snprintf(wait, sizeof wait, " (%.3f ms), p95 ", link.queue.mean_ms);
    char tail[64];
    std::snprintf(tail, sizeof tail, " (%.3f ms), most ", link.queue.p95_ms);
    const auto rate = BitRate::from_bytes_per_second(static_cast<double>(link.passed_bytes) /
                                                     std::max(time, 1e-9));
    return std::string(name) + ": " + count(link.passed_packets) + " packets, " +
           format_size(link.passed_bytes) + ", " + format_rate(rate) + " (" +
           percent(link.utilisation) + " of the rate)\n" + "  queue: mean " +
           size(link.queue.mean_bytes) + wait + size(link.queue.p95_bytes) + tail +
           size(link.queue.most_bytes) + ", dropped " + count(link.dropped) + " (" +
           percent(share(link.dropped, link.offered_packets)) + ")\n" + "  lost " +
           count(link.lost) + " (" + percent(share(link.lost, link.offered_packets)) +
           "), duplicated " + count(link.duplicated) + ", reordered " + count(link.reordered) +
           ", dead " + count(link.dead) + ", too long " + count(link.too_long) + "\n";
}

nlohmann::ordered_json direction_json(const LinkCounters& link) {
    return {{"offered_packets", link.offered_packets},
            {"offered_bytes", link.offered_bytes},
            {"packets", link.passed_packets},
            {"bytes", link.passed_bytes},
            {"dropped", link.dropped},
            {"lost", link.lost},
            {"dead", link.dead},
            {"too_long", link.too_long},
            {"duplicated", link.duplicated},
            {"reordered", link.reordered},
            {"queue_mean_bytes", link.queue.mean_bytes},
            {"queue_p95_bytes", link.queue.p95_bytes},
            {"queue_max_bytes", link.queue.most_bytes},
            {"queue_mean_ms", link.queue.mean_ms},
            {"queue_p95_ms", link.queue.p95_ms},
            {"utilisation", link.utilisation}};
}

std::uint64_t unfetched(const Counters& counters) {
    std::uint64_t sum = 0;
    for (const auto& host : counters.hosts) sum += host.unfetched;
    return sum;
}

}  // namespace

bool Counters::strained() const {
    constexpr double kLateUs = 1000;
    return no_memory > 0 || refused > 0 || unfetched(*this) > 0 ||
           lateness.quantile_us(0.99) > kLateUs;
}

std::string counters_text(const Counters& counters) {
    char lab[240];
    std::snprintf(lab, sizeof lab,
                  "lab: seed %llu, %.2f s, %.0f %% of a core; deliveries late by p50 %.0f us, p99 "
                  "%.0f us, most %.0f us\n",
                  static_cast<unsigned long long>(counters.seed), counters.seconds,
                  100 * counters.cpu_seconds / std::max(counters.seconds, 1e-9),
                  counters.lateness.quantile_us(0.5), counters.lateness.quantile_us(0.99),
                  counters.lateness.most_us());
    std::string text = direction_text("forward", counters.forward, counters.seconds) +
                       direction_text("backward", counters.backward, counters.seconds) + lab;
    if (counters.strained()) {
        text += "lab: THE PATH WAS NOT AS ASKED FOR: " + std::to_string(unfetched(counters)) +
                " packets were not fetched in time, " + std::to_string(counters.no_memory) +
                " found no memory, " + std::to_string(counters.refused) +
                " were refused by the receiving host, or deliveries were late\n";
    }
    return text;
}

std::string counters_json(const Counters& counters) {
    nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
    for (const auto& host : counters.hosts) {
        hosts.push_back(
            {{"name", host.name}, {"address", host.address}, {"unfetched", host.unfetched}});
    }
    const nlohmann::ordered_json json{{"seed", counters.seed},
                                      {"seconds", counters.seconds},
                                      {"forward", direction_json(counters.forward)},
                                      {"backward", direction_json(counters.backward)},
                                      {"lab",
                                       {{"cpu_seconds", counters.cpu_seconds},
                                        {"late_p50_us", counters.lateness.quantile_us(0.5)},
                                        {"late_p99_us", counters.lateness.quantile_us(0.99)},
                                        {"late_max_us", counters.lateness.most_us()},
                                        {"stray", counters.stray},
                                        {"no_memory", counters.no_memory},
                                        {"refused", counters.refused},
                                        {"strained", counters.strained()}}},
                                      {"hosts", hosts}};
    return json.dump(2) + "\n";
}

}  // namespace lambda::lab
