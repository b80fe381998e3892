#include "client/trial/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "client/report/verdict_json.h"

namespace lambda::client {
namespace {

// "a", or with what CSV (RFC 4180) wants where something is special.
std::string csv_text(const std::string& text) {
    if (text.find_first_of("\",\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string brief(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::isfinite(value) ? text : "";
}

std::string list_json(const std::vector<double>& values) {
    std::string list;
    for (const double value : values) list += (list.empty() ? "" : ",") + brief(value);
    return "[" + list + "]";
}

std::string rates_json(const Rates& rates) {
    std::string stripes;
    for (const auto& stripe : rates.stripes)
        stripes += (stripes.empty() ? "" : ",") + list_json(stripe);
    return JsonObject()
        .raw("seconds", list_json(rates.seconds))
        .raw("stripes_mbit_per_s", "[" + stripes + "]")
        .line();
}

JsonObject& add_case(JsonObject& object, const TrialCase& what) {
    return object.text("key", what.key())
        .text("leg", what.leg.name)
        .number("size", what.size)
        .number("stripes", std::uint64_t{what.settings.stripes})
        .text("congestion", what.settings.congestion)
        .text("protection", session::to_string(what.settings.protection))
        .number("payload", std::uint64_t{what.settings.payload});
}

struct Column {
    const char* name;
    double (*value)(const Measures&);
};

constexpr Column kColumns[] = {
    {"seconds", [](const Measures& m) { return m.seconds; }},
    {"gbit_per_s", [](const Measures& m) { return m.gbit_per_s; }},
    {"efficiency_mbit_per_s", [](const Measures& m) { return m.mean_mbit; }},
    {"variation", [](const Measures& m) { return m.variation; }},
    {"jain", [](const Measures& m) { return m.jain; }},
    {"loss", [](const Measures& m) { return m.loss; }},
    {"rtt_ms", [](const Measures& m) { return m.rtt_ms; }},
    {"queue_ms", [](const Measures& m) { return m.queue_ms; }},
    {"sender_cpu_s_per_gb", [](const Measures& m) { return m.sender_cpu_s_per_gb; }},
    {"receiver_cpu_s_per_gb", [](const Measures& m) { return m.receiver_cpu_s_per_gb; }},
    {"source_wait_s", [](const Measures& m) { return m.source_wait_s; }},
    {"network_wait_s", [](const Measures& m) { return m.network_wait_s; }},
    {"destination_wait_s", [](const Measures& m) { return m.destination_wait_s; }},
    {"memory_mib", [](const Measures& m) { return m.memory_mib; }},
};

}  // namespace

std::vector<double> CaseResult::rates() const {
    std::vector<double> rates;
    for (const Measures& run : runs) rates.push_back(run.gbit_per_s);
    return rates;
}

const Measures& CaseResult::typical() const {
    const double middle = gbit_per_s();
    return *std::min_element(runs.begin(), runs.end(), [&](const Measures& a, const Measures& b) {
        return std::abs(a.gbit_per_s - middle) < std::abs(b.gbit_per_s - middle);
    });
}

std::optional<verdict::Verdict> CaseResult::verdict() const {
    const Measures& run = typical();
    if (!run.evidence) return std::nullopt;
    return verdict::judge(*run.evidence);
}

double CaseResult::uncertainty() const {
    const double middle = gbit_per_s();
    const auto interval = confidence(rates());
    if (!interval || middle <= 0) return 0;
    return (interval->high - interval->low) / 2 / middle;
}

std::string CaseResult::interval() const {
    const auto known = confidence(rates());
    char text[96];
    if (known) {
        std::snprintf(text, sizeof text, "%.3f to %.3f", known->low, known->high);
    } else {
        std::snprintf(text, sizeof text, "too few runs for an interval, %zu of %zu", runs.size(),
                      kLeastForInterval);
    }
    return text;
}

std::string TrialOrigin::sentence() const {
    return time + ", from " + client + " to " + server + ", by lambda-ftp " + version;
}

JsonObject origin_json(const TrialOrigin& origin) {
    return JsonObject()
        .text("event", "trial")
        .text("time", origin.time)
        .text("client", origin.client)
        .text("server", origin.server)
        .text("version", origin.version)
        .text("command", origin.command);
}

JsonObject run_json(const TrialCase& what, const Measures& run, unsigned repetition) {
    JsonObject object;
    object.text("event", "run");
    add_case(object, what).number("repetition", std::uint64_t{repetition});
    object.number("bytes", run.bytes)
        .number("sent_packets", run.sent_packets)
        .number("lost_packets", run.lost_packets)
        .number("retransmitted_packets", run.retransmitted_packets);
    for (const Column& column : kColumns) object.number(column.name, column.value(run));
    object.raw("rates", rates_json(run.rates));
    object.raw("verdict", run.evidence ? verdict_json(*run.evidence) : "null");
    return object;
}

JsonObject case_json(const CaseResult& result) {
    JsonObject object;
    object.text("event", "case");
    const auto interval = confidence(result.rates());
    add_case(object, result.what)
        .number("runs", std::uint64_t{result.runs.size()})
        .number("gbit_per_s", result.gbit_per_s());
    if (interval) {
        object.number("gbit_per_s_low", interval->low).number("gbit_per_s_high", interval->high);
    } else {
        object.raw("gbit_per_s_low", "null").raw("gbit_per_s_high", "null");
    }
    const Measures& run = result.typical();
    object.raw("verdict", run.evidence ? verdict_json(*run.evidence) : "null");
    return object;
}

std::string csv_head() {
    std::string line =
        "leg,size,stripes,congestion,protection,payload,repetition,bytes,sent_packets,"
        "lost_packets,retransmitted_packets";
    for (const Column& column : kColumns) line += "," + std::string(column.name);
    return line + ",verdict\n";
}

std::string csv_line(const TrialCase& what, const Measures& run, unsigned repetition) {
    std::string line = std::string(what.leg.name) + "," + std::to_string(what.size) + "," +
                       std::to_string(what.settings.stripes) + "," +
                       csv_text(what.settings.congestion) + "," +
                       session::to_string(what.settings.protection) + "," +
                       std::to_string(what.settings.payload) + "," + std::to_string(repetition);
    for (const std::uint64_t count :
         {run.bytes, run.sent_packets, run.lost_packets, run.retransmitted_packets})
        line += "," + std::to_string(count);
    for (const Column& column : kColumns) line += "," + brief(column.value(run));
    return line + "," +
           (run.evidence ? verdict::name_of(verdict::judge(*run.evidence).cause) : "") + "\n";
}

}  // namespace lambda::client
