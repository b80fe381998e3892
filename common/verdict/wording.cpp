#include "common/verdict/wording.h"

#include <algorithm>
#include <cmath>

namespace lambda::verdict {
namespace {

std::string percent(double share) {
    return std::to_string(std::lround(100 * share)) + " % of the time";
}

std::string place_of_sender(const Evidence& evidence) {
    if (evidence.between_servers) return "at the source";
    return evidence.sender_here ? "here" : "at the server";
}

std::string place_of_receiver(const Evidence& evidence) {
    if (evidence.between_servers) return "at the destination";
    return evidence.sender_here ? "at the server" : "here";
}

// The other end may say any number.
std::string milliseconds(std::uint64_t us) {
    constexpr std::uint64_t kMost = 3'600'000'000;
    return format_duration(std::chrono::microseconds(std::min(us, kMost)));
}

std::string lost_share(const Figures& sender) {
    const double sent = static_cast<double>(sender[Figure::sent]);
    const double share = sent > 0 ? 100 * static_cast<double>(sender[Figure::lost]) / sent : 0;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %%", share);
    return text;
}

// For a run of a second: twice the least.
std::string how_much_more(const Evidence& evidence) {
    constexpr std::uint64_t kEnoughUs = 1'000'000;
    // What was heard of the other end may be old.
    const std::uint64_t elapsed_us =
        std::max(evidence.sender[Figure::elapsed], evidence.receiver[Figure::elapsed]);
    const std::uint64_t times = elapsed_us > 0 ? (kEnoughUs + elapsed_us - 1) / elapsed_us : 0;
    return times > 1 ? "a transfer of " + std::to_string(times) + " times the bytes tells it"
                     : "a transfer of more bytes tells it";
}

// Else it is the ring.
bool is_users_window(const Figures& sender) {
    return sender[Figure::window] >= sender[Figure::credit] + sender[Figure::memory];
}

std::string why_window(const Evidence& evidence) {
    return (is_users_window(evidence.sender)
                ? "the window of " + format_size(evidence.window)
                : "the ring of " + format_size(evidence.memory) + " in memory") +
           " is too small for a round trip of " + milliseconds(evidence.sender[Figure::least_rtt]);
}

std::string larger_ring(const Evidence& evidence) {
    const auto& [wanted, beyond] = evidence.room;
    const std::string servers =
        std::string("transfer_memory at the server") + (evidence.between_servers ? "s" : "");
    if (wanted == 0) return "raise --memory, or " + servers;
    if (evidence.memory < wanted) return "raise " + servers;
    return beyond > 0 ? "raise --memory above " + format_size(beyond)
                      : "no ring is larger: move parts of it by several commands at a time";
}

bool is_default(const std::string& law) {
    return law == "sabul" || law.starts_with("sabul:");
}

}  // namespace

const char* title_of(Cause cause) {
    switch (cause) {
        case Cause::too_short:
            return "too short to tell";
        case Cause::source_disk:
            return "disk of the source";
        case Cause::sender_cpu:
            return "processor of the sender";
        case Cause::sender_stall:
            return "standstill of the sender";
        case Cause::path_rate:
            return "rate of the path";
        case Cause::path_loss:
            return "loss on the path";
        case Cause::path_window:
            return "window or memory";
        case Cause::path_dead:
            return "outage of the path";
        case Cause::receive_buffer:
            return "receive buffer";
        case Cause::receiver_cpu:
            return "processor of the receiver";
        case Cause::receiver_stall:
            return "standstill of the receiver";
        case Cause::destination_disk:
            return "disk of the destination";
        case Cause::rate_limit:
            return "rate limit";
        case Cause::law:
            return "law";
    }
    return "";
}

std::string why(const Evidence& evidence, Cause cause, double share) {
    const Figures& sender = evidence.sender;
    const std::string from = place_of_sender(evidence), to = place_of_receiver(evidence);
    const std::string held = " (" + percent(share) + ")";
    switch (cause) {
        case Cause::too_short:
            return "too short to tell what held it back";
        case Cause::source_disk:
            return "held back by the disk " + from + ": the sender waited for reads" + held;
        case Cause::sender_cpu:
            return "held back by the processor " + from + ": the sender was busy" + held;
        case Cause::sender_stall:
            return "held back by the host " + from + ": the program stood still" + held;
        case Cause::path_rate:
            return "held back by the rate of the path: " + evidence.law + " filled it" + held +
                   ", " + lost_share(sender) + " lost";
        case Cause::path_loss:
            return "held back by loss on the path: " + evidence.law + " gave way to " +
                   lost_share(sender) + " though the path was not full" + held;
        case Cause::path_window:
            return "held back by the window: " + why_window(evidence) + held;
        case Cause::path_dead:
            return "held back by the path: no packets came across" + held;
        case Cause::receive_buffer:
            return "held back by the receive buffer " + to + ": a socket holds " +
                   format_size(evidence.receiver[Figure::receive_buffer]) + ", and dropped " +
                   std::to_string(evidence.receiver[Figure::drops]) + " packets" + held;
        case Cause::receiver_cpu:
            return "held back by the processor " + to + ": the receiver was busy (" +
                   percent(evidence.receiver.share(Figure::busy)) + ")";
        case Cause::receiver_stall:
            return "held back by the host " + to + ": the program stood still" + held;
        case Cause::destination_disk:
            return "held back by the disk " + to + ": what had come waited to be written" + held;
        case Cause::rate_limit:
            // Of one that moves, the terms know nothing.
            return "held back by the rate limit" +
                   (evidence.rate_limit.bits_per_second > 0
                        ? " of " + format_rate(evidence.rate_limit)
                        : std::string()) +
                   held;
        case Cause::law:
            return evidence.law_is_fixed
                       ? "held back by the law: " + evidence.law + " keeps its rate" + held
                       : "held back by the law: " + evidence.law +
                             " had not found what the path carries" + held;
    }
    return {};
}

std::string remedy(const Evidence& evidence, Cause cause) {
    switch (cause) {
        case Cause::too_short:
            return how_much_more(evidence);
        case Cause::source_disk:
            return "read from a faster disk, or one that nobody else uses";
        case Cause::sender_cpu:
            return "take other work off the machine, or --protection safe or clear where the "
                   "server allows it";
        case Cause::receiver_cpu:
            return "take other work off that machine, or --protection safe or clear where the "
                   "server allows it";
        case Cause::sender_stall:
        case Cause::receiver_stall:
            return "look for what suspends it: swapping, a paused virtual machine, a signal";
        case Cause::path_rate:
            return "nothing here is faster than the path";
        case Cause::path_loss:
            return "--congestion sabul tells such loss from congestion";
        case Cause::path_window:
            return is_users_window(evidence.sender) ? "raise --window, or leave it out"
                                                    : larger_ring(evidence);
        case Cause::path_dead:
            return "look for an outage, or a firewall that forgets UDP flows";
        case Cause::receive_buffer:
            return "raise net.core.rmem_max there, and socket_buffer";
        case Cause::destination_disk:
            return "write to a faster disk, or one that nobody else uses";
        case Cause::rate_limit:
            return "raise --rate-limit, or the server's highest_rate";
        case Cause::law:
            if (evidence.law_is_fixed) return "raise --initial-rate, or take another law";
            return is_default(evidence.law) ? "move more data"
                                            : "move more data, or take --congestion sabul";
    }
    return {};
}

}  // namespace lambda::verdict
