#include "tools/lab/path_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "tools/lab/loss.h"

namespace lambda::lab {
namespace {

constexpr BitRate kLeastRate{1e3}, kMostRate{100e9};
constexpr Duration kMostDelay = std::chrono::seconds(10);
constexpr Duration kMostTime = std::chrono::hours(24);
constexpr std::uint64_t kMostQueue = 4 * GiB;
constexpr double kMostBdp = 100;
constexpr double kMostBurst = 1e6;
// Where no queue is named it is of 1 BDP, but of no fewer than so many of the longest packets: a
// path without delay needs one too, and a host sends 64 KiB at once.
constexpr std::uint64_t kLeastDefaultPackets = 100;

template <typename T>
T checked(const Result<T>& value) {
    if (!value) throw Wrong{value.error().sentence()};
    return *value;
}

template <typename T>
T within(const std::string& text, T value, T least, T most, const std::string& range) {
    if (value < least || value > most) throw Wrong{"'" + text + "' is out of range: " + range};
    return value;
}

double to_number(std::string_view text, const std::string& whole) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc() || stop != end || !std::isfinite(value)) {
        throw Wrong{"'" + whole + "' is no number"};
    }
    return value;
}

}  // namespace

BitRate to_rate(const std::string& text) {
    return within(text, checked(parse_rate(text)), kLeastRate, kMostRate, "1kbit/s to 100Gbit/s");
}

Duration to_delay(const std::string& text) {
    return within(text, checked(parse_duration(text)), Duration{0}, kMostDelay, "0ms to 10s");
}

Duration to_time(const std::string& text) {
    return within(text, checked(parse_duration(text)), Duration{0}, kMostTime, "0s to 24h");
}

double to_share(const std::string& text) {
    const bool percent = text.ends_with('%');
    const double value =
        to_number(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)), text);
    return within(text, percent ? value / 100 : value, 0.0, 1.0, "0 to 1, or 0% to 100%");
}

double to_burst(const std::string& text) {
    return within(text, to_number(text, text), 1.0, kMostBurst, "1 to 1000000 packets");
}

std::uint32_t to_mtu(const std::string& text) {
    const double value = to_number(text, text);
    if (value != std::floor(value)) throw Wrong{"'" + text + "' is no whole number"};
    within<double>(text, value, kLeastMtu, kMostMtu, "576 to 65000 bytes");
    return static_cast<std::uint32_t>(value);
}

void to_queue(const std::string& text, LinkSpec& link) {
    if (text.ends_with("BDP")) {
        const double bdp = to_number(std::string_view(text).substr(0, text.size() - 3), text);
        link.queue_bdp = within(text, bdp, 0.0, kMostBdp, "up to 100BDP");
        link.queue_by = QueueBy::bdp;
        return;
    }
    link.queue_by = QueueBy::bytes;
    link.queue = within<std::uint64_t>(text, checked(parse_size(text)), 1, kMostQueue,
                                       "up to 4GiB, or a multiple as 0.5BDP");
}

void check_loss(const Loss& loss) {
    if (loss.rate > highest_loss(loss.burst)) {
        throw Wrong{"so much cannot be lost in bursts of that mean; at most burst/(burst + 1)"};
    }
}

std::string to_name(const std::string& text) {
    const bool good =
        !text.empty() && text.size() <= 32 && text[0] >= 'a' && text[0] <= 'z' &&
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!good) {
        throw Wrong{"'" + text + "' is no name: a letter, then at most 31 of a to z, 0 to 9, _"};
    }
    return text;
}

std::string to_congestion(const std::string& text) {
    const bool good =
        !text.empty() && text.size() <= 15 &&  // TCP_CA_NAME_MAX
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    if (!good) throw Wrong{"'" + text + "' is no name of a congestion control"};
    return text;
}

void resolve_queues(PathSpec& path) {
    std::uint64_t longest = 0;
    for (const HostSpec& host : path.hosts) longest = std::max<std::uint64_t>(longest, host.mtu);
    for (LinkSpec* link : {&path.forward, &path.backward}) {
        const double bdp =
            link->impairments.rate.bytes_per_second() * seconds(mean_round_trip(path));
        if (link->queue_by == QueueBy::bdp) {
            link->queue = static_cast<std::uint64_t>(link->queue_bdp * bdp);
        } else if (link->queue_by == QueueBy::usual) {
            link->queue = std::max(static_cast<std::uint64_t>(bdp), kLeastDefaultPackets * longest);
        }
        if (link->queue < longest) {
            throw Wrong{"a queue of " + std::to_string(link->queue) +
                        " bytes has no room for one packet of " + std::to_string(longest)};
        }
    }
}

}  // namespace lambda::lab
