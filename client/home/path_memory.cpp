#include "client/home/path_memory.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "client/home/home.h"
#include "common/session/terms.h"

namespace lambda::client {
namespace {

constexpr double kStart = 0.5;  // of what was carried
constexpr double kFade = 0.5;
// Round trips differ by so much, or by a factor of two, before the path is taken for another.
constexpr Duration kSame = std::chrono::milliseconds(2);
constexpr std::uint64_t kMostBits = 1'000'000'000'000;
constexpr std::uint64_t kLongestUs = 60'000'000;
// Of what is known; less is not worth a write.
constexpr double kNews = 0.1;

// Else it starts as one that nobody knows.
bool is_of_use(const KnownPath& known) {
    return start_of(known) > session::Terms{}.initial_rate;
}

bool is_same(Duration one, Duration other) {
    const auto [shorter, longer] = std::minmax(one, other);
    return longer <= 2 * shorter || longer - shorter <= kSame;
}

std::string text_of(const KnownPath& known) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(known.round_trip).count();
    return std::to_string(static_cast<std::uint64_t>(known.carried.bits_per_second)) + " " +
           std::to_string(us) + "\n";
}

// And then `end`.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
    std::uint64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc() || at == last || *at != end) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    return number;
}

}  // namespace

std::optional<KnownPath> known_path(std::uint64_t bits_per_second, std::uint64_t round_trip_us) {
    if (bits_per_second == 0 || bits_per_second > kMostBits || round_trip_us == 0 ||
        round_trip_us > kLongestUs)
        return std::nullopt;
    return KnownPath{.carried = BitRate{static_cast<double>(bits_per_second)},
                     .round_trip = std::chrono::microseconds(round_trip_us)};
}

BitRate start_of(const KnownPath& known) {
    return {kStart * known.carried.bits_per_second};
}

bool is_known(const KnownPath& known, Duration round_trip) {
    return is_same(known.round_trip, round_trip) && is_of_use(known);
}

KnownPath learnt(const std::optional<KnownPath>& before, const KnownPath& now) {
    if (!before || !is_same(before->round_trip, now.round_trip)) return now;
    return {.carried = std::max(now.carried, BitRate{kFade * before->carried.bits_per_second}),
            .round_trip = now.round_trip};
}

PathMemory PathMemory::of_user() {
    return PathMemory(Marks(state_directory() + "/paths", "lambda-ftp path 1"));
}

std::optional<KnownPath> PathMemory::find(const std::string& path) const {
    const auto text = marks_.find(path, std::time(nullptr));
    if (!text) return std::nullopt;
    std::string_view left = *text;
    const auto bits = take_number(left, ' ');
    const auto us = bits ? take_number(left, '\n') : std::nullopt;
    return us && left.empty() ? known_path(*bits, *us) : std::nullopt;
}

void PathMemory::keep(const std::string& path, const KnownPath& known) const {
    const auto before = find(path);
    const KnownPath now = learnt(before, known);
    if (!is_of_use(now) && !(before && is_of_use(*before))) return;
    const double had = before ? before->carried.bits_per_second : 0;
    if (std::abs(now.carried.bits_per_second - had) <= kNews * had &&
        is_same(before->round_trip, now.round_trip)) {
        marks_.renew(path);
        return;
    }
    // It can't be helped, and costs no more than a slower start.
    [[maybe_unused]] const auto kept = marks_.keep(path, text_of(now), std::time(nullptr));
}

}  // namespace lambda::client
