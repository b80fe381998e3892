#include "common/verdict/verdict.h"

#include <algorithm>
#include <array>

#include "common/verdict/wording.h"

namespace lambda::verdict {
namespace {

// Shorter transfers are round trips and start-up.
constexpr std::uint64_t kLeastElapsedUs = 500'000;
// A thread that is busy for so much of the time can't do much more: it works in bursts, and what
// comes meanwhile waits.
constexpr double kBusy = 0.7;
// Of the losses: so many were the receiver's socket's own.
constexpr double kDropsOfLost = 0.5;
// A queue is no queue below this: what a host's scheduler does to a round trip, and a quarter of
// it, which is half of what a queue of half a BDP adds when it is full.
constexpr double kNoQueueUs = 3000, kNoQueueOfRtt = 0.25;
// The receiver's disk is behind an empty credit where it kept the ring for this share of that time.
constexpr double kDiskOfCredit = 0.5;
// Laws that measure the path know it after so long.
constexpr double kStartUs = 2e6, kStartRtts = 40;

double count(const Figures& figures, Figure figure) {
    return static_cast<double>(figures[figure]);
}

bool queue_is_empty(const Figures& sender, Figure measured) {
    return count(sender, measured) <
           std::max(kNoQueueUs, kNoQueueOfRtt * count(sender, Figure::least_rtt));
}

// The law's rate or window was what the sender waited for: what the law was led by.
Cause behind_the_law(const Evidence& evidence) {
    const Figures& sender = evidence.sender;
    const Figures& receiver = evidence.receiver;
    if (receiver.share(Figure::busy) >= kBusy) return Cause::receiver_cpu;
    if (evidence.law_is_fixed) return Cause::law;
    const double lost = count(sender, Figure::lost);
    if (lost > 0 && count(receiver, Figure::drops) >= kDropsOfLost * lost)
        return Cause::receive_buffer;
    if (evidence.law_yields_to_loss) {
        if (lost > 0 && queue_is_empty(sender, Figure::queue_at_loss)) return Cause::path_loss;
        return lost > 0 ? Cause::path_rate : Cause::law;
    }
    const double start = std::max(kStartUs, kStartRtts * count(sender, Figure::least_rtt));
    const bool starting = count(sender, Figure::elapsed) < start && lost == 0;
    return starting && queue_is_empty(sender, Figure::queue) ? Cause::law : Cause::path_rate;
}

struct Candidate {
    Cause cause;
    double share;
};

Candidate greatest(const Evidence& evidence) {
    const Figures& sender = evidence.sender;
    const Figures& receiver = evidence.receiver;
    const auto of = [&](Figure figure) { return sender.share(figure); };
    const double credit = of(Figure::credit);
    const bool disk = receiver.share(Figure::disk) >= kDiskOfCredit * credit;
    const double stalled = receiver.share(Figure::stalled);
    // While the receiver stands still, the sender waits for what seems to be the path.
    const double law =
        of(Figure::pace) + of(Figure::law_window) + of(Figure::socket) + of(Figure::tail);
    const double silence = of(Figure::silence);
    const double silence_left = std::max(0.0, silence - stalled);
    const double law_left = std::max(0.0, law - std::max(0.0, stalled - silence));
    const std::array candidates{
        Candidate{Cause::path_rate, law_left},  // stands for what is behind the law
        Candidate{Cause::source_disk, of(Figure::source)},
        Candidate{Cause::sender_cpu, of(Figure::busy)},
        Candidate{Cause::sender_stall, of(Figure::stalled)},
        Candidate{Cause::receiver_stall, stalled},
        Candidate{Cause::destination_disk, of(Figure::finish) + (disk ? credit : 0)},
        Candidate{Cause::path_window,
                  of(Figure::window) + of(Figure::memory) + (disk ? 0 : credit)},
        Candidate{Cause::receive_buffer, of(Figure::buffer)},
        Candidate{Cause::rate_limit, of(Figure::limit)},
        Candidate{Cause::path_dead, silence_left}};
    return *std::max_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.share < b.share; });
}

Stages stages_of(const Figures& sender, const Figures& receiver) {
    constexpr std::array kPath{Figure::window, Figure::law_window, Figure::buffer,
                               Figure::pace,   Figure::limit,      Figure::socket,
                               Figure::tail,   Figure::silence,    Figure::memory};
    Stages stages{
        .source_disk = sender.share(Figure::source),
        .sender_cpu = sender.share(Figure::busy),
        .path = 0,
        .receiver_cpu = receiver.share(Figure::busy),
        .destination_disk = std::max(receiver.share(Figure::disk), sender.share(Figure::finish))};
    for (const Figure figure : kPath) stages.path += sender.share(figure);
    return stages;
}

}  // namespace

const char* name_of(Cause cause) {
    switch (cause) {
        case Cause::too_short:
            return "too_short";
        case Cause::source_disk:
            return "source_disk";
        case Cause::sender_cpu:
            return "sender_cpu";
        case Cause::sender_stall:
            return "sender_stall";
        case Cause::path_rate:
            return "path_rate";
        case Cause::path_loss:
            return "path_loss";
        case Cause::path_window:
            return "path_window";
        case Cause::path_dead:
            return "path_dead";
        case Cause::receive_buffer:
            return "receive_buffer";
        case Cause::receiver_cpu:
            return "receiver_cpu";
        case Cause::receiver_stall:
            return "receiver_stall";
        case Cause::destination_disk:
            return "destination_disk";
        case Cause::rate_limit:
            return "rate_limit";
        case Cause::law:
            return "law";
    }
    return "";
}

std::string Verdict::sentence() const {
    return remedy.empty() ? why : why + ": " + remedy;
}

Verdict judge(const Evidence& evidence) {
    Verdict verdict;
    verdict.stages = stages_of(evidence.sender, evidence.receiver);
    const bool known = evidence.sender[Figure::elapsed] >= kLeastElapsedUs;
    if (known) {
        const Candidate found = greatest(evidence);
        verdict.cause = found.cause == Cause::path_rate ? behind_the_law(evidence) : found.cause;
        // A receiver that is too slow leaves its socket full, and looks like a dead path at last.
        const bool seems_path =
            found.cause == Cause::receive_buffer || found.cause == Cause::path_dead;
        if (seems_path && evidence.receiver.share(Figure::busy) >= kBusy)
            verdict.cause = Cause::receiver_cpu;
        verdict.share = std::min(found.share, 1.0);
    }
    verdict.why = why(evidence, verdict.cause, verdict.share);
    verdict.remedy = remedy(evidence, verdict.cause);
    return verdict;
}

}  // namespace lambda::verdict
