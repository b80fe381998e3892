#include "tools/sim/flows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "common/base/jain.h"
#include "common/engine/receive_side.h"
#include "common/engine/send_side.h"
#include "tools/sim/feedback.h"
#include "tools/sim/host.h"
#include "tools/sim/link.h"
#include "tools/sim/list_walker.h"
#include "tools/sim/path.h"
#include "tools/sim/statistics.h"
#include "tools/sim/world.h"
#include "tools/sim/zero_disk.h"

namespace lambda::simulation {
namespace {

constexpr std::size_t kFirstHop = 1472;   // an Ethernet
constexpr std::uint32_t kPayload = 1440;  // of 1,500
constexpr std::uint32_t kSlots = 4096;    // more than any path here holds
constexpr Duration kSample = std::chrono::milliseconds(10);
constexpr double kWithin = 0.1;  // of its level: settled

// As long as the real ones, and no protection: nobody listens in.
class PlainCipher final : public ports::PacketCipher {
  public:
    std::size_t tag_bytes() const override { return 16; }
    void seal(std::span<const ports::SealJob> jobs) override {
        for (const ports::SealJob& job : jobs) {
            std::byte* to = job.packet + ports::kHeaderBytes;
            if (!job.text.empty()) std::memcpy(to, job.text.data(), job.text.size());
            to += job.text.size();
            if (!job.trailer.empty()) std::memcpy(to, job.trailer.data(), job.trailer.size());
            std::memset(to + job.trailer.size(), 0, tag_bytes());
        }
    }
    void open(std::span<ports::OpenJob> jobs) override {
        for (ports::OpenJob& job : jobs) {
            const std::size_t text = job.packet.size() - ports::kHeaderBytes - tag_bytes();
            std::memcpy(job.text, job.packet.data() + ports::kHeaderBytes, text);
            job.ok = true;
        }
    }
};

class Flow {
  public:
    Flow(World& world, const FlowsScenario& scenario, const FlowSettings& settings,
         Link& bottleneck, const Pauses* pauses, unsigned number)
        : world_(world),
          settings_(settings),
          sender_(world, {.lateness = {}, .clock_drift = 0}),
          receiver_(world, {.lateness = scenario.lateness, .clock_drift = scenario.clock_drift}),
          feedback_(world, settings.rtt / 2, scenario.feedback_jitter, sender_.alarm(),
                    receiver_.alarm()),
          source_(world, sender_.alarm(), kSlots, 1u << 20,
                  settings.bytes > 0 ? settings.bytes : ZeroDisk::kEndless),
          target_(world, receiver_.alarm(), kSlots, 1u << 20) {
        feedback_.set_loss(scenario.feedback_loss);
        backward_.delay = settings.rtt / 2;
        backward_.first_hop = kFirstHop;
        // One path for all, or one for each stripe where each has a link of its own.
        for (unsigned i = 0; i < (settings.access ? settings.stripes : 1u); ++i) {
            Path& path = forward_.emplace_back();
            path.delay = settings.rtt / 2;
            path.loss = scenario.loss;
            path.burst = scenario.burst;
            path.jitter = scenario.jitter;
            path.first_hop = kFirstHop;
            path.bottleneck = &bottleneck;
            path.pauses = pauses;
            if (settings.access) path.access = &accesses_.emplace_back(*settings.access, 1e9);
        }
        const auto port = [&](unsigned stripe) {
            return static_cast<std::uint16_t>(40000 + stripe);
        };
        for (unsigned i = 0; i < settings.stripes; ++i) {
            near_.push_back(std::make_unique<VirtualSocket>(world, forward_[i % forward_.size()],
                                                            address(2 * number, port(i)), sender_));
            far_.push_back(std::make_unique<VirtualSocket>(
                world, backward_, address(2 * number + 1, port(i)), receiver_));
            far_.back()->stamp_noise = scenario.stamp_noise;
            near_.back()->reach(*far_.back());
            far_.back()->reach(*near_.back());
        }
        world.after(settings.start + world.uniform(settings.start_within),
                    [this, number] { begin(number); });
    }
    ~Flow() {
        sender_.stop();
        receiver_.stop();
    }
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    void change(const PathChange& change) {
        if (change.rtt) {
            backward_.delay = *change.rtt / 2;
            for (Path& path : forward_) path.delay = *change.rtt / 2;
            feedback_.set_delay(*change.rtt / 2);
        }
        if (!change.loss) return;
        for (Path& path : forward_) path.loss = *change.loss;
    }

    void sample() {
        if (!began_) return;
        bytes_ = 0;
        for (const auto& stripe : receiver_.end().outcome().stripes) bytes_ += stripe.bytes;
        if (first_sent_ == kNever && sender_.end().outcome().sent_packets > 0)
            first_sent_ = world_.now();
    }
    std::uint64_t bytes() const { return bytes_; }
    engine::Progress progress() const {
        return began_ ? sender_end_->progress() : engine::Progress{};
    }
    Time first_sent() const { return first_sent_; }
    const engine::Outcome& sent() { return sender_end_->outcome(); }
    const engine::Outcome& received() { return receiver_.end().outcome(); }
    bool began() const { return began_; }

  private:
    void begin(unsigned number) {
        const auto end = [&](bool sends) {
            engine::Setup setup;
            setup.terms.stripes = settings_.stripes;
            setup.terms.payload = kPayload;
            setup.terms.syn = settings_.syn;
            setup.terms.initial_rate = settings_.initial;
            setup.terms.highest_rate = settings_.highest;
            setup.terms.known_rate = settings_.known;
            setup.terms.congestion = settings_.law;
            setup.terms.memory = std::uint64_t{kSlots} << 20;
            setup.is_client = sends;
            setup.peer = address(2 * number + (sends ? 1 : 0), 2811);
            for (unsigned i = 0; i < settings_.stripes; ++i) {
                setup.sockets.push_back(sends ? near_[i].get() : far_[i].get());
                setup.ciphers.push_back(
                    {std::make_unique<PlainCipher>(), std::make_unique<PlainCipher>()});
                setup.peer_ports.push_back(static_cast<std::uint16_t>(40000 + i));
            }
            if (sends) setup.sources = {{"zeros", "zeros"}};
            setup.target = {"out", false};
            setup.seed = world_.below(std::uint64_t{1} << 32);
            setup.fill_random = [this](ByteSpan out) {
                for (std::byte& byte : out) byte = static_cast<std::byte>(world_.below(256));
            };
            setup.clock = sends ? &sender_ : &receiver_;
            setup.disk = sends ? &source_ : &target_;
            setup.walker = &walker_;
            setup.feedback = sends ? &feedback_.client() : &feedback_.server();
            return setup;
        };
        const auto sockets = [](auto& list) {
            std::vector<VirtualSocket*> all;
            for (const auto& socket : list) all.push_back(socket.get());
            return all;
        };
        auto sender = std::make_unique<engine::SendSide>(end(true), sender_.now());
        sender_end_ = sender.get();
        sender_.start(std::move(sender), sockets(near_));
        receiver_.start(std::make_unique<engine::ReceiveSide>(end(false), receiver_.now()),
                        sockets(far_));
        began_ = true;
    }

    World& world_;
    FlowSettings settings_;
    std::deque<Link> accesses_;  // of the stripes
    std::deque<Path> forward_;   // likewise, or one for all
    Path backward_;
    Host sender_, receiver_;
    std::vector<std::unique_ptr<VirtualSocket>> near_, far_;
    VirtualFeedback feedback_;
    ZeroDisk source_, target_;
    ListWalker walker_;
    engine::End* sender_end_ = nullptr;
    bool began_ = false;
    std::uint64_t bytes_ = 0;
    Time first_sent_ = kNever;
};

// Received bytes at each sample, and where a window of them first has the rate.
class Arrival {
  public:
    Arrival(double rate_bytes, Duration rtt)
        : rate_(rate_bytes), width_(std::max<std::size_t>(2, rtt / 4 / kSample)) {}
    void add(Time now, std::uint64_t bytes) {
        if (reached_ != kNever) return;
        history_.push_back(bytes);
        if (history_.size() <= width_) return;
        const double window = seconds(kSample) * static_cast<double>(width_);
        const std::uint64_t before = history_[history_.size() - 1 - width_];
        if (static_cast<double>(bytes - before) >= 0.9 * rate_ * window) reached_ = now;
    }
    Time reached() const { return reached_; }

  private:
    double rate_;
    std::size_t width_;
    std::vector<std::uint64_t> history_;
    Time reached_ = kNever;
};

// Of what came in a bin.
float mbit_of(std::uint64_t bytes) {
    return static_cast<float>(static_cast<double>(bytes) * 8e-6 / seconds(kBin));
}

std::size_t first_bin(const FlowsScenario& scenario) {
    return static_cast<std::size_t>(measured_from(scenario) / kBin);
}

// Over what is measured.
BitRate mean_capacity(const FlowsScenario& scenario) {
    const Duration from = measured_from(scenario);
    double bits = 0;
    BitRate capacity = scenario.capacity;
    Duration since = from;
    for (const PathChange& change : scenario.changes) {
        if (!change.capacity) continue;
        const Duration until = std::max(since, change.at);
        bits += capacity.bits_per_second * seconds(until - since);
        since = until;
        capacity = *change.capacity;
    }
    bits += capacity.bits_per_second * seconds(scenario.duration - since);
    return BitRate{bits / seconds(scenario.duration - from)};
}

// From a change of the path to the next, in bins.
struct Stage {
    std::size_t first = 0, bins = 0;
    double mbit = 0;    // the capacity then in force
    double rtt_ms = 0;  // 0: it did not change
};

std::vector<Stage> stages_of(const FlowsScenario& scenario, std::size_t bins) {
    std::vector<Stage> stages;
    double mbit = payload_mbit(scenario.capacity);
    for (std::size_t i = 0; i < scenario.changes.size(); ++i) {
        const PathChange& change = scenario.changes[i];
        const Duration end =
            i + 1 < scenario.changes.size() ? scenario.changes[i + 1].at : scenario.duration;
        if (change.capacity) mbit = payload_mbit(*change.capacity);
        const auto first = static_cast<std::size_t>(change.at / kBin);
        const auto last = std::min(static_cast<std::size_t>(end / kBin), bins);
        stages.push_back({first, last - first, mbit, change.rtt ? seconds(*change.rtt) * 1e3 : 0});
    }
    return stages;
}

// The end of the first bin that is within 10 % of `level`, as each later mean of `width` is;
// nothing where the last one is not.
std::optional<std::size_t> at_rest(std::span<const float> bins, std::size_t width, double level) {
    std::size_t at = settles(bins, width, level, kWithin);
    while (at < bins.size() && std::abs(bins[at] - level) > kWithin * level) ++at;
    return at < bins.size() ? std::optional(at + 1) : std::nullopt;
}

// Of the slowest stage: settled(stage, its bins) says after how many bins, or nothing.
template <typename Settled>
double slowest_ms(std::span<const Stage> stages, std::span<const float> bins, Settled settled) {
    double slowest = 0;
    for (const Stage& stage : stages) {
        const std::optional<std::size_t> after =
            settled(stage, bins.subspan(stage.first, stage.bins));
        if (!after) return -1;
        slowest = std::max(slowest, seconds(kBin) * 1e3 * static_cast<double>(*after));
    }
    return slowest;
}

void settle(FlowsResult& result, std::span<const Stage> stages, std::span<const float> received) {
    result.settled_ms = slowest_ms(stages, received, [](const Stage& stage, auto bins) {
        const std::size_t at = settles(bins, kSecond, stage.mbit, kWithin);
        return at < bins.size() ? std::optional(at) : std::nullopt;
    });
    result.sent_settled_ms = slowest_ms(
        stages, sent_mbit(result),
        [](const Stage& stage, auto bins) { return at_rest(bins, kSecond, stage.mbit); });
    for (FlowResult& flow : result.flows) {
        flow.rtt_settled_ms = slowest_ms(stages, flow.rtt_ms, [](const Stage& stage, auto bins) {
            return stage.rtt_ms == 0 ? std::optional<std::size_t>(0)
                                     : at_rest(bins, 1, stage.rtt_ms);
        });
    }
}

void summarise(FlowsResult& result, const FlowsScenario& scenario) {
    result.first_bin = first_bin(scenario);
    const auto measured = [from = result.first_bin](const std::vector<float>& bins) {
        return std::span(bins).subspan(from);
    };
    std::vector<double> means;
    std::vector<float> endless, sum;
    for (std::size_t number = 0; number < result.flows.size(); ++number) {
        FlowResult& flow = result.flows[number];
        flow.mean_mbit = mean(measured(flow.mbit));
        flow.cov = variation(measured(flow.mbit));
        means.push_back(flow.mean_mbit);
        if (scenario.flows[number].bytes == 0)
            endless.push_back(static_cast<float>(flow.mean_mbit));
        sum.resize(flow.mbit.size());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += flow.mbit[i];
    }
    result.sum_mbit = mean(measured(sum));
    result.sum_cov = variation(measured(sum));
    settle(result, stages_of(scenario, sum.size()), sum);
    result.jain = jain(means);
    result.spread = variation(endless);
    result.utilisation = result.sum_mbit / payload_mbit(mean_capacity(scenario));
    double correlations = 0;
    std::size_t pairs = 0;
    for (std::size_t a = 0; a < result.flows.size(); ++a) {
        for (std::size_t b = a + 1; b < result.flows.size(); ++b, ++pairs) {
            correlations +=
                correlation(measured(result.flows[a].mbit), measured(result.flows[b].mbit));
        }
    }
    result.correlation = pairs == 0 ? 0 : correlations / static_cast<double>(pairs);
}

}  // namespace

Duration measured_from(const FlowsScenario& scenario) {
    return scenario.from.value_or(scenario.duration / 2) / kBin * kBin;
}

double mean_rtt(const FlowsScenario& scenario) {
    double sum = 0;
    for (const FlowSettings& flow : scenario.flows) sum += seconds(flow.rtt);
    return sum / static_cast<double>(scenario.flows.size());
}

double payload_mbit(BitRate capacity) {
    return capacity.bits_per_second * 1e-6 * kPayload / 1500;
}

std::vector<float> sent_mbit(const FlowsResult& result) {
    std::vector<float> sum(result.queue_ms.size());
    for (const FlowResult& flow : result.flows) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += flow.sent_mbit[i];
    }
    return sum;
}

FlowsResult run_flows(const FlowsScenario& scenario) {
    World world(scenario.seed);
    Link bottleneck(scenario.capacity, scenario.queue_bytes);
    std::optional<Pauses> pauses;
    if (scenario.pause_every.count() > 0)
        pauses.emplace(world.now(), scenario.duration + std::chrono::seconds(1),
                       scenario.pause_every, scenario.pause, scenario.seed);
    std::vector<std::unique_ptr<Flow>> flows;
    std::vector<Arrival> arrivals;
    const double payload_rate = scenario.capacity.bytes_per_second() * kPayload / 1500;
    for (const FlowSettings& settings : scenario.flows) {
        flows.push_back(std::make_unique<Flow>(world, scenario, settings, bottleneck,
                                               pauses ? &*pauses : nullptr,
                                               static_cast<unsigned>(flows.size())));
        arrivals.emplace_back(payload_rate, settings.rtt);
    }
    for (const PathChange& change : scenario.changes) {
        world.after(change.at, [&] {
            if (change.capacity) bottleneck.set_rate(world.now(), *change.capacity);
            for (const auto& flow : flows) flow->change(change);
        });
    }
    const Time began = world.now();
    FlowsResult result;
    result.flows.resize(flows.size());
    std::vector<std::uint64_t> before(flows.size());
    std::vector<engine::Progress> told_before(flows.size());
    const auto bins = scenario.duration / kBin;
    const auto first_measured = static_cast<std::int64_t>(first_bin(scenario));
    const auto samples_a_bin = kBin / kSample;
    bottleneck.reset(began);
    for (std::int64_t sample = 1; sample <= bins * samples_a_bin; ++sample) {
        while (world.step(began + sample * kSample)) {
        }
        for (std::size_t i = 0; i < flows.size(); ++i) {
            flows[i]->sample();
            arrivals[i].add(world.now(), flows[i]->bytes());
        }
        if (sample % samples_a_bin != 0) continue;
        if (sample / samples_a_bin == first_measured) bottleneck.reset(world.now());
        for (std::size_t i = 0; i < flows.size(); ++i) {
            FlowResult& flow = result.flows[i];
            const std::uint64_t bytes = flows[i]->bytes();
            engine::Progress told = flows[i]->progress();
            flow.mbit.push_back(mbit_of(bytes - before[i]));
            flow.sent_mbit.push_back(
                mbit_of((told.sent_packets - told_before[i].sent_packets) * kPayload));
            flow.rtt_ms.push_back(static_cast<float>(told.rtt_ms));
            flow.lost.push_back(
                static_cast<float>(told.lost_packets - told_before[i].lost_packets));
            before[i] = bytes;
            told_before[i] = std::move(told);
        }
        result.queue_ms.push_back(static_cast<float>(bottleneck.waiting_ms(world.now())));
    }
    const Link::Counters counters = bottleneck.counters(world.now());
    result.queue_mean_bytes = counters.queue_mean;
    result.queue_p10_bytes = counters.queue_p10;
    const double bytes_a_second = mean_capacity(scenario).bytes_per_second();
    result.queue_mean_ms = counters.queue_mean / bytes_a_second * 1e3;
    result.queue_p10_bdp = counters.queue_p10 / (bytes_a_second * mean_rtt(scenario));
    result.dropped_packets = counters.dropped;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        FlowResult& told = result.flows[i];
        told.law = scenario.flows[i].law;
        if (!flows[i]->began()) continue;
        told.lost_packets = flows[i]->sent().lost_packets;
        told.sent_packets = flows[i]->sent().sent_packets;
        std::vector<double> stripes;
        for (const auto& stripe : flows[i]->received().stripes)
            stripes.push_back(static_cast<double>(stripe.bytes));
        told.stripes_jain = jain(stripes);
        if (arrivals[i].reached() != kNever)
            told.reached_ms = seconds(arrivals[i].reached() - flows[i]->first_sent()) * 1e3;
    }
    summarise(result, scenario);
    return result;
}

}  // namespace lambda::simulation
