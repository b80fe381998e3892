#include "tools/sim/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tools/sim/scenario.h"

namespace lambda::simulation {
namespace {

Error usage(const std::string& what) {
    return Error{
        .fault = Fault::usage, .message = what, .path = {}, .side = Side::local, .remedy = {}};
}

// Takes values over, each under the name of its flag; the first that is wrong is kept.
class Reader {
  public:
    template <typename T>
    void take(Result<T> parsed, const char* flag, T& into) {
        if (parsed) {
            into = std::move(*parsed);
        } else {
            refuse(flag, parsed.error().sentence());
        }
    }
    void range(double value, double least, double most, const char* flag) {
        if (!(value >= least && value <= most)) refuse(flag, "the value is out of range");
    }
    void refuse(const char* flag, const std::string& what) {
        if (!error_) error_ = usage(std::string(flag) + ": " + what);
    }
    const std::optional<Error>& error() const { return error_; }

  private:
    std::optional<Error> error_;
};

constexpr Duration kLeastBetweenPauses = std::chrono::milliseconds(1);

// "12.5MB", or "1BDP" at the mean round trip of the flows.
Result<double> queue_bytes(const std::string& text, const FlowsScenario& scenario) {
    if (!text.ends_with("BDP")) {
        const auto bytes = parse_size(text);
        if (!bytes) return bytes.error();
        return static_cast<double>(*bytes);
    }
    const auto products = parse_number(text.substr(0, text.size() - 3));
    if (!products || *products <= 0) return usage(text + " is no number of BDP");
    return *products * mean_rtt(scenario) * scenario.capacity.bytes_per_second();
}

}  // namespace

Result<double> parse_number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return usage("\"" + text + "\" is no number");
    return value;
}

Result<void> Flags::set(const std::string& key, const std::string& value) {
    const auto number = [&value](double& into) -> Result<void> {
        const auto parsed = parse_number(value);
        if (!parsed) return parsed.error();
        into = *parsed;
        return {};
    };
    if (key == "loss") return number(loss);
    if (key == "burst") return number(burst);
    if (key == "feedback-loss") return number(feedback_loss);
    if (key == "drift") return number(drift_ppm);
    if (key == "flow") {
        flows.push_back(value);
    } else if (key == "at") {
        changes.push_back(value);
    } else if (key == "capacity") {
        capacity = value;
    } else if (key == "queue") {
        queue = value;
    } else if (key == "duration") {
        duration = value;
    } else if (key == "jitter") {
        jitter = value;
    } else if (key == "lateness") {
        lateness = value;
    } else if (key == "noise") {
        noise = value;
    } else if (key == "feedback-jitter") {
        feedback_jitter = value;
    } else if (key == "pauses") {
        pauses = value;
    } else if (key == "from") {
        from = value;
    } else {
        return usage("\"" + key + "\" is no flag of `lambda-sim flows`");
    }
    return {};
}

Result<FlowsScenario> scenario_of(const Flags& flags) {
    FlowsScenario scenario;
    Reader reader;
    reader.take(parse_rate(flags.capacity), "--capacity", scenario.capacity);
    reader.take(parse_duration(flags.duration), "--duration", scenario.duration);
    if (scenario.duration < kBin) reader.refuse("--duration", "is less than 100ms");
    reader.take(parse_duration(flags.jitter), "--jitter", scenario.jitter);
    reader.take(parse_duration(flags.lateness), "--lateness", scenario.lateness);
    reader.take(parse_duration(flags.noise), "--noise", scenario.stamp_noise);
    reader.take(parse_duration(flags.feedback_jitter), "--feedback-jitter",
                scenario.feedback_jitter);
    if (!flags.pauses.empty()) {
        const std::size_t comma = flags.pauses.find(',');
        if (comma == std::string::npos) {
            reader.refuse("--pauses", "is no EVERY,LONGEST");
        } else {
            reader.take(parse_duration(flags.pauses.substr(0, comma)), "--pauses",
                        scenario.pause_every);
            reader.take(parse_duration(flags.pauses.substr(comma + 1)), "--pauses", scenario.pause);
            if (scenario.pause_every < kLeastBetweenPauses)
                reader.refuse("--pauses", "EVERY is less than 1ms");
        }
    }
    if (!flags.from.empty()) {
        reader.take(parse_duration(flags.from), "--from", scenario.from.emplace());
        if (*scenario.from / kBin >= scenario.duration / kBin)
            reader.refuse("--from", "leaves nothing to measure");
    }
    reader.range(flags.loss, 0, 0.99, "--loss");
    reader.range(flags.feedback_loss, 0, 0.99, "--feedback-loss");
    reader.range(flags.burst, 1, 1000, "--burst");
    reader.range(flags.drift_ppm, -1000, 1000, "--drift");
    scenario.loss = flags.loss;
    scenario.feedback_loss = flags.feedback_loss;
    scenario.burst = flags.burst;
    scenario.clock_drift = flags.drift_ppm * 1e-6;
    scenario.seed = flags.seed;
    for (const std::string& text : flags.flows) {
        if (text.empty()) reader.refuse("--flow", "says nothing of it");
        std::vector<FlowSettings> flows;
        reader.take(parse_flow(text), "--flow", flows);
        scenario.flows.insert(scenario.flows.end(), flows.begin(), flows.end());
    }
    for (const std::string& text : flags.changes)
        reader.take(parse_change(text), "--at", scenario.changes.emplace_back());
    std::stable_sort(scenario.changes.begin(), scenario.changes.end(),
                     [](const PathChange& a, const PathChange& b) { return a.at < b.at; });
    if (!scenario.changes.empty() && scenario.changes.back().at >= scenario.duration)
        reader.refuse("--at", "is after the end");
    if (scenario.capacity.bits_per_second <= 0) reader.refuse("--capacity", "is nothing");
    double most_loss = scenario.loss;
    for (const PathChange& change : scenario.changes)
        most_loss = std::max(most_loss, change.loss.value_or(0));
    if (scenario.burst > 1 && most_loss > scenario.burst / (scenario.burst + 1))
        reader.refuse("--loss", "is more than bursts of this length can have");
    if (scenario.burst > 1 && most_loss == 0)
        reader.refuse("--burst", "goes with --loss: nothing is lost");
    if (flags.flows.empty()) reader.refuse("--flow", "there is none");
    if (reader.error()) return *reader.error();
    reader.take(queue_bytes(flags.queue, scenario), "--queue", scenario.queue_bytes);
    if (reader.error()) return *reader.error();
    return scenario;
}

}  // namespace lambda::simulation
