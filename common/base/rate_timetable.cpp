#include "common/base/rate_timetable.h"

#include <algorithm>
#include <optional>

namespace lambda {
namespace {

using Stretch = RateTimetable::Stretch;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

Error wrong(std::size_t number, std::string_view entry, const std::string& what) {
    return Error{.fault = Fault::usage,
                 .message = "entry " + std::to_string(number) + " of the timetable, '" +
                            std::string(entry) + "': " + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = "write HH:MM-HH:MM RATE, and more after commas"};
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// HH:MM, to 24:00.
std::optional<int> parse_minute(std::string_view text) {
    const bool form = text.size() == 5 && text[2] == ':' && is_digit(text[0]) &&
                      is_digit(text[1]) && is_digit(text[3]) && is_digit(text[4]);
    if (!form) return std::nullopt;
    const int hours = (text[0] - '0') * 10 + (text[1] - '0');
    const int minutes = (text[3] - '0') * 10 + (text[4] - '0');
    const int all = hours * 60 + minutes;
    if (minutes >= 60 || all > RateTimetable::kMinutesOfDay) return std::nullopt;
    return all;
}

bool holds(const Stretch& stretch, int minute) {
    const bool after = minute >= stretch.first;
    const bool before = minute < stretch.last;
    return stretch.first < stretch.last ? after && before : after || before;
}

// Two stretches overlap if and only if one holds where the other begins.
bool overlap(const Stretch& a, const Stretch& b) {
    return holds(a, b.first) || holds(b, a.first);
}

Result<Stretch> parse_stretch(std::size_t number, std::string_view entry) {
    const std::size_t dash = entry.find('-');
    if (dash == std::string_view::npos) return wrong(number, entry, "there is no time");
    const std::string_view behind = entry.substr(dash + 1);
    const std::string_view from = trimmed(entry.substr(0, dash));
    const std::string_view to = behind.substr(0, behind.find_first_of(" \t"));
    const std::string_view rate = trimmed(behind.substr(to.size()));
    const auto first = parse_minute(from), last = parse_minute(to);
    if (!first || *first == RateTimetable::kMinutesOfDay)
        return wrong(number, entry, "'" + std::string(from) + "' is no time of the day");
    if (!last) return wrong(number, entry, "'" + std::string(to) + "' is no time of the day");
    Stretch stretch{.first = *first, .last = *last == 0 ? RateTimetable::kMinutesOfDay : *last};
    if (stretch.first == stretch.last) return wrong(number, entry, "it ends where it begins");
    if (rate == "max" || rate == "none") return stretch;
    const auto limit = parse_rate(rate);
    if (!limit) return wrong(number, entry, limit.error().message);
    if (limit->bits_per_second <= 0) return wrong(number, entry, "a rate of nothing");
    stretch.limit = *limit;
    return stretch;
}

}  // namespace

bool RateTimetable::looks_like_one(std::string_view text) {
    return text.find_first_of(":,") != std::string_view::npos;
}

Result<RateTimetable> RateTimetable::parse(std::string_view text) {
    RateTimetable table;
    for (std::size_t number = 1;; ++number) {
        const std::size_t comma = text.find(',');
        const std::string_view entry = trimmed(text.substr(0, comma));
        if (number > kMostStretches) return wrong(number, entry, "there are more than 64");
        const auto stretch = parse_stretch(number, entry);
        if (!stretch) return stretch.error();
        for (std::size_t i = 0; i < table.stretches_.size(); ++i) {
            if (overlap(table.stretches_[i], *stretch))
                return wrong(number, entry, "it overlaps entry " + std::to_string(i + 1));
        }
        table.stretches_.push_back(*stretch);
        if (comma == std::string_view::npos) return table;
        text.remove_prefix(comma + 1);
    }
}

BitRate RateTimetable::at(int minute) const {
    const auto now = std::find_if(stretches_.begin(), stretches_.end(),
                                  [&](const Stretch& stretch) { return holds(stretch, minute); });
    return now == stretches_.end() ? BitRate{0} : now->limit;
}

BitRate RateTimetable::lowest() const {
    BitRate least{0};
    for (const Stretch& stretch : stretches_) least = lower(least, stretch.limit);
    return least;
}

}  // namespace lambda
