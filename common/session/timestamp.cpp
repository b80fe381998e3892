#include "common/session/timestamp.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::size_t kWholeDigits = 14;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::optional<unsigned> digits(std::string_view text, std::size_t at, std::size_t count) {
    unsigned value = 0;
    for (const char c : text.substr(at, count)) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
}

// ".5" is 500,000,000.
std::optional<unsigned> parse_fraction(std::string_view text) {
    if (text.empty()) return 0;
    if (text[0] != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
    std::string padded(text.substr(1));
    padded.resize(9, '0');
    return digits(padded, 0, 9);
}

}  // namespace

std::string format_timestamp(std::int64_t time_ns) {
    using namespace std::chrono;
    // By hand: floor() of the earliest times would overflow in nanoseconds.
    const std::int64_t part = time_ns % kNsPerSecond;
    const std::int64_t fraction = part < 0 ? part + kNsPerSecond : part;
    const sys_seconds time{seconds(time_ns / kNsPerSecond - (part < 0 ? 1 : 0))};
    const sys_days day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%04d%02u%02u%02d%02d%02d.%09d",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<int>(fraction));
    return text.data();
}

std::string format_rfc3339(std::int64_t time_ns) {
    const std::string t = format_timestamp(time_ns);
    return t.substr(0, 4) + "-" + t.substr(4, 2) + "-" + t.substr(6, 2) + "T" + t.substr(8, 2) +
           ":" + t.substr(10, 2) + ":" + t.substr(12) + "Z";
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
    using namespace std::chrono;
    if (text.size() < kWholeDigits) return std::nullopt;
    const auto year_value = digits(text, 0, 4);
    const auto month_value = digits(text, 4, 2);
    const auto day_value = digits(text, 6, 2);
    const auto hour = digits(text, 8, 2);
    const auto minute = digits(text, 10, 2);
    const auto second = digits(text, 12, 2);
    const auto fraction = parse_fraction(text.substr(kWholeDigits));
    if (!year_value || !month_value || !day_value || !hour || !minute || !second || !fraction) {
        return std::nullopt;
    }
    const year_month_day date{year(static_cast<int>(*year_value)), month(*month_value),
                              day(*day_value)};
    // 60: a leap second, RFC 3659 §2.3.
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    const std::int64_t whole =
        (sys_days(date).time_since_epoch() + hours(*hour) + minutes(*minute) + seconds(*second))
            .count();
    std::int64_t result = 0;
    // Before 1970 the fraction is added to a negative number: multiply what is nearer to zero, so
    // that the first nanosecond that fits does.
    const bool before = whole < 0;
    const std::int64_t base = before ? whole + 1 : whole;
    const std::int64_t rest = static_cast<std::int64_t>(*fraction) - (before ? kNsPerSecond : 0);
    if (__builtin_mul_overflow(base, kNsPerSecond, &result) ||
        __builtin_add_overflow(result, rest, &result)) {
        return std::nullopt;
    }
    return result;
}

}  // namespace lambda::session
