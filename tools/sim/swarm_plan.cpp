#include "tools/sim/swarm_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include "common/sabul/congestion/registry.h"
#include "common/transfer/digest.h"

namespace lambda::simulation {
namespace {

using namespace std::chrono_literals;

constexpr double kMostBytes = 24e6;
constexpr std::size_t kMostFiles = 12;
// A minute without any connection ends a transfer, and two without progress: what is drawn stays
// well below, all of it together.
constexpr Duration kLongestMishap = 20s;

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    bool chance(double probability) { return uniform() < probability; }
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    std::uint64_t between(std::uint64_t low, std::uint64_t high) {
        return low + random_() % (high - low + 1);
    }
    // Each order of magnitude alike.
    double scaled(double low, double high) { return low * std::pow(high / low, uniform()); }
    Duration scaled(Duration low, Duration high) {
        return from_seconds(scaled(seconds(low), seconds(high)));
    }
    template <typename T>
    const T& pick(const std::vector<T>& from) {
        return from[random_() % from.size()];
    }
    std::uint64_t bits() { return random_(); }

  private:
    std::mt19937_64 random_;
};

Path draw_path(Dice& dice, Duration delay, bool carries_data) {
    Path path;
    path.delay = delay;
    if (dice.chance(0.2)) path.jitter = dice.scaled(10us, 20ms);
    if (dice.chance(0.4)) {
        path.loss = dice.scaled(1e-4, 0.2);
        if (dice.chance(0.4)) path.burst = dice.scaled(1.5, 20);
    }
    if (dice.chance(0.3)) path.duplicate = dice.scaled(1e-3, 0.1);
    if (dice.chance(0.3)) {
        path.reorder = dice.scaled(1e-3, 0.2);
        path.reorder_by = dice.scaled(10us, 50ms);
    }
    if (dice.chance(0.2)) path.truncate = dice.scaled(1e-3, 0.05);
    if (dice.chance(0.3)) path.flip = dice.scaled(1e-3, 0.05);
    if (carries_data) {
        path.largest = dice.pick<std::size_t>({65507, 65507, 8972, 1472, 1472, 1472});
        path.first_hop = dice.chance(0.5) ? path.largest : 65507;
    }
    return path;
}

session::Terms draw_terms(Dice& dice) {
    session::Terms terms;
    terms.direction = dice.chance(0.5) ? session::Direction::put : session::Direction::get;
    terms.stripes = dice.pick<std::uint16_t>({1, 1, 2, 3, 4, 4, 5, 8, 16});
    if (dice.chance(0.3)) {
        terms.payload =
            static_cast<std::uint32_t>(dice.between(session::kMinPayload, session::kMaxPayload));
    }
    if (dice.chance(0.3)) terms.syn = dice.scaled(1ms, 100ms);
    terms.highest_rate = BitRate{dice.scaled(5e6, 2e9)};
    terms.initial_rate =
        BitRate{dice.scaled(1e6, std::max(2e6, terms.highest_rate.bits_per_second))};
    if (dice.chance(0.1))
        terms.window = static_cast<std::uint64_t>(dice.scaled(64 * 1024, 4 * 1024 * 1024));
    if (dice.chance(0.1)) terms.block = 2u << 20;
    terms.protection = static_cast<session::Protection>(dice.between(0, 2));
    terms.cipher = static_cast<session::Cipher>(dice.between(0, 1));
    if (dice.chance(0.4)) terms.congestion = dice.pick(sabul::law_names());
    return terms;
}

std::size_t draw_size(Dice& dice, double most) {
    constexpr std::uint64_t kLeaf = transfer::kLeafBytes;
    const std::uint64_t near =
        dice.pick<std::uint64_t>({0, 1440, 4096, 65536, kLeaf, 2 * kLeaf, 3 * kLeaf});
    if (dice.chance(0.4) && static_cast<double>(near) <= most)
        return near + dice.between(0, 2) - (near > 0 ? 1 : 0);
    return static_cast<std::size_t>(dice.scaled(1, std::max(2.0, most)));
}

MemoryFile draw_content(Dice& dice, std::size_t size) {
    MemoryFile file;
    file.bytes.resize(size);
    for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
        const std::uint64_t bits = dice.bits();
        std::memcpy(file.bytes.data() + at, &bits, std::min(sizeof bits, size - at));
    }
    const auto leaves = size / transfer::kLeafBytes;
    if (leaves > 0 && dice.chance(0.3)) {
        for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
            if (dice.chance(0.5)) continue;
            std::memset(file.bytes.data() + leaf * transfer::kLeafBytes, 0, transfer::kLeafBytes);
        }
    }
    file.mtime_ns = static_cast<std::int64_t>(dice.between(0, 4'000'000'000'000'000'000)) -
                    1'000'000'000'000'000'000;
    file.mode = static_cast<std::uint32_t>(dice.between(0, 0777));
    return file;
}

bool has_data(const MemoryFile& file) {
    return std::any_of(file.bytes.begin(), file.bytes.end(),
                       [](std::byte b) { return b != std::byte{0}; });
}

FileFault draw_fault(Dice& dice, const MemoryFile& file) {
    std::vector<FileFault> possible{FileFault::missing, FileFault::create, FileFault::commit};
    // The others show when data is read or written.
    if (has_data(file)) {
        for (const FileFault fault :
             {FileFault::read, FileFault::shrinks, FileFault::changes, FileFault::write})
            possible.push_back(fault);
    }
    return dice.pick(possible);
}

void draw_files(Dice& dice, SwarmPlan& plan) {
    const bool several = dice.chance(0.6);
    const std::size_t count = several ? dice.between(1, kMostFiles) : 1;
    // Slow paths get little to carry: virtual time is not free either.
    // A crash is of interest where something was durable by then: in files that take a while.
    double most = plan.crash ? kMostBytes : dice.scaled(1e5, kMostBytes);
    if (plan.options.forward.loss > 0.03 || plan.options.backward.loss > 0.03) most /= 8;
    const bool faults = dice.chance(0.25);
    for (std::size_t i = 0; i < count; ++i) {
        PlannedFile file;
        file.name = "f" + std::to_string(i);
        file.path = dice.chance(0.5) ? "from/" + file.name : file.name;
        file.content = draw_content(
            dice, plan.crash && i == 0 ? static_cast<std::size_t>(dice.scaled(most / 2, most))
                                       : draw_size(dice, most / static_cast<double>(count)));
        if (faults && dice.chance(0.4)) file.fault = draw_fault(dice, file.content);
        plan.files.push_back(std::move(file));
    }
    plan.target = several ? transfer::Target{"to", true} : transfer::Target{"out", false};
}

void draw_mishaps(Dice& dice, SwarmPlan& plan) {
    const std::uint16_t stripes = plan.options.terms.stripes;
    bool refused = false;
    for (std::uint64_t left = dice.chance(0.6) ? dice.between(1, 6) : 0; left > 0; --left) {
        PlannedMishap mishap;
        mishap.what = static_cast<Mishap>(
            dice.between(0, static_cast<std::uint64_t>(Mishap::first_hop_narrows)));
        mishap.at = dice.scaled(1ms, 3s);
        mishap.length = dice.scaled(10ms, kLongestMishap);
        mishap.stripe = static_cast<std::uint16_t>(dice.between(0, stripes - 1u));
        if (mishap.what == Mishap::target_full && dice.chance(0.7)) continue;
        if (mishap.what == Mishap::feedback_refused) {
            if (refused) continue;
            refused = true;
            // Refusing alone shows nothing while all connections stand.
            plan.mishaps.push_back({Mishap::feedback_cut_all, mishap.at + 1ms, {}, 0});
        }
        plan.mishaps.push_back(mishap);
    }
}

Crash draw_crash(Dice& dice) {
    Crash crash{.sender = dice.chance(0.5), .silent = dice.chance(0.5)};
    // Some while a transfer is set up, or after its end.
    if (dice.chance(0.8)) crash.share = dice.uniform();
    crash.at = dice.scaled(1ms, crash.share > 0 ? 50ms : 3s);
    return crash;
}

}  // namespace

SwarmPlan draw_plan(std::uint64_t seed) {
    Dice dice(seed);
    SwarmPlan plan;
    plan.seed = seed;
    Options& options = plan.options;
    options.terms = draw_terms(dice);
    const Duration delay = dice.scaled(50us, 150ms);
    options.forward = draw_path(dice, delay, true);
    options.backward = draw_path(dice, dice.chance(0.7) ? delay : dice.scaled(50us, 150ms), false);
    options.feedback_delay = dice.chance(0.7) ? delay : dice.scaled(50us, 300ms);
    if (dice.chance(0.3)) options.first_number = (1ull << 32) - dice.between(0, 2000);
    options.slots = static_cast<std::uint32_t>(dice.chance(0.5) ? dice.between(2, 4) : 8);
    options.buffer_bytes = static_cast<std::size_t>(
        dice.chance(0.3) ? dice.scaled(16 * 1024, 256 * 1024) : dice.scaled(1e6, 8e6));
    if (dice.chance(0.25)) options.server_ports = static_cast<unsigned>(dice.between(1, 3));
    options.behind_nat = dice.chance(0.25);
    plan.source_latency = dice.scaled(5us, 20ms);
    plan.target_latency = dice.scaled(5us, 20ms);
    plan.overflows = dice.chance(0.5);
    if (dice.chance(0.3)) plan.busy = dice.scaled(1e-3, 0.3);
    if (dice.chance(0.1)) plan.crash = draw_crash(dice);
    draw_files(dice, plan);
    draw_mishaps(dice, plan);
    plan.source_copies = dice.chance(0.3);
    return plan;
}

const char* to_string(FileFault fault) {
    static constexpr std::array kNames{"none",
                                       "missing",
                                       "unreadable",
                                       "shrinks while read",
                                       "changes while read",
                                       "cannot be created",
                                       "cannot be written",
                                       "cannot be committed"};
    return kNames[static_cast<std::size_t>(fault)];
}

const char* to_string(Mishap mishap) {
    static constexpr std::array kNames{"outage forward",      "outage backward",
                                       "outage both ways",    "source disk stalled",
                                       "target disk stalled", "target disk full",
                                       "feedback cut",        "feedback cut on all stripes",
                                       "feedback stalled",    "feedback dials refused",
                                       "path narrowed",       "first hop narrowed"};
    return kNames[static_cast<std::size_t>(mishap)];
}

std::string describe(const SwarmPlan& plan) {
    const Options& options = plan.options;
    const session::Terms& terms = options.terms;
    std::ostringstream out;
    const auto ms = [](Duration duration) { return seconds(duration) * 1e3; };
    out << "  " << to_string(terms.direction) << ", " << terms.stripes << " stripes, "
        << to_string(terms.protection) << " " << to_string(terms.cipher) << ", " << terms.congestion
        << ", " << terms.initial_rate.bits_per_second / 1e6 << " to "
        << terms.highest_rate.bits_per_second / 1e6 << " Mbit/s, SYN " << ms(terms.syn)
        << " ms, payload " << terms.payload << ", window " << terms.window << ", " << options.slots
        << " slots of " << terms.block << ", sockets of " << options.buffer_bytes
        << (plan.overflows ? " that overflow" : "") << ", busy " << plan.busy << ", first number "
        << options.first_number << (options.server_ports > 0 ? ", few ports" : "")
        << (options.behind_nat ? ", behind NAT" : "") << "\n";
    for (const Path* path : {&options.forward, &options.backward}) {
        out << (path == &options.forward ? "  forward" : "  backward") << ": delay "
            << ms(path->delay) << " ms, jitter " << ms(path->jitter) << " ms, loss " << path->loss
            << " in runs of " << path->burst << ", duplicate " << path->duplicate << ", reorder "
            << path->reorder << " by " << ms(path->reorder_by) << " ms, truncate " << path->truncate
            << ", flip " << path->flip << ", largest " << path->largest << ", first hop "
            << path->first_hop << "\n";
    }
    out << "  feedback delay " << ms(options.feedback_delay) << " ms, disks "
        << ms(plan.source_latency) << " and " << ms(plan.target_latency)
        << (plan.source_copies ? " ms, the source's files are in memory\n" : " ms\n");
    for (const PlannedFile& file : plan.files) {
        out << "  file " << file.path << ", " << file.content.bytes.size() << " bytes";
        if (file.fault != FileFault::none) out << ", " << to_string(file.fault);
        out << "\n";
    }
    for (const PlannedMishap& mishap : plan.mishaps) {
        out << "  at " << ms(mishap.at) << " ms: " << to_string(mishap.what) << ", stripe "
            << mishap.stripe << ", for " << ms(mishap.length) << " ms\n";
    }
    if (plan.crash) {
        out << "  at " << ms(plan.crash->at) << " ms";
        if (plan.crash->share > 0) out << " after " << plan.crash->share << " of all was written";
        out << ": the " << (plan.crash->sender ? "sender" : "receiver") << " is gone"
            << (plan.crash->silent ? ", silently" : "") << "\n";
    }
    return out.str();
}

}  // namespace lambda::simulation
