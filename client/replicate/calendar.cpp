#include "client/replicate/calendar.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "client/home/trimmed.h"

namespace lambda::client::replicate {
namespace {

constexpr int kDay_s = 86400;
constexpr std::array<std::string_view, 7> kDays{"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr std::size_t kMostEntries = 256;

Error wrong(std::string_view text, const char* what) {
    return Error{.fault = Fault::usage,
                 .message = "'" + std::string(text) + "' " + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = {}};
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::optional<int> day_of(std::string_view text) {
    const auto at = std::find(kDays.begin(), kDays.end(), text);
    if (at == kDays.end()) return std::nullopt;
    return static_cast<int>(at - kDays.begin());
}

std::optional<unsigned> days_of(std::string_view text) {
    unsigned days = 0;
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        const std::size_t dash = std::min(part.find('-'), part.size());
        const auto first = day_of(part.substr(0, dash));
        const auto last = dash == part.size() ? first : day_of(part.substr(dash + 1));
        if (!first || !last) return std::nullopt;
        for (int day = *first;; day = (day + 1) % 7) {
            days |= 1u << static_cast<unsigned>(day);
            if (day == *last) break;
        }
        if (comma == text.size()) return days;
        text.remove_prefix(comma + 1);
    }
}

// "08:00", "08:00:30", "24:00".
std::optional<int> second_of(std::string_view text) {
    int second = 0;
    int parts = 0;
    for (; parts < 3; ++parts) {
        if (text.size() < 2 || std::isdigit(static_cast<unsigned char>(text[0])) == 0 ||
            std::isdigit(static_cast<unsigned char>(text[1])) == 0)
            return std::nullopt;
        const int value = (text[0] - '0') * 10 + (text[1] - '0');
        if (value > (parts == 0 ? 24 : 59)) return std::nullopt;
        second = second * 60 + value;
        text.remove_prefix(2);
        if (text.empty()) break;
        if (text[0] != ':') return std::nullopt;
        text.remove_prefix(1);
    }
    if (!text.empty() || parts == 0) return std::nullopt;
    if (parts == 1) second *= 60;
    return second <= kDay_s ? std::optional(second) : std::nullopt;
}

Result<Span> span_of(std::string_view text) {
    const std::vector<std::string_view> words = words_of(text);
    if (words.empty() || words.size() > 2) return wrong(text, "is no span of time");
    Span span;
    const bool has_days = std::isalpha(static_cast<unsigned char>(words[0][0])) != 0;
    if (has_days) {
        const auto days = days_of(words[0]);
        if (!days) return wrong(words[0], "names no days");
        span.days = *days;
    }
    if (words.size() == 1 && has_days) return span;
    if (words.size() == 2 && !has_days) return wrong(text, "has no days before its hours");
    const std::string_view hours = words.back();
    const std::size_t dash = hours.find('-');
    const auto from = second_of(hours.substr(0, dash));
    const auto to = dash == hours.npos ? std::nullopt : second_of(hours.substr(dash + 1));
    if (!from || !to || *from == kDay_s) return wrong(hours, "is no HH:MM-HH:MM");
    if (*from == *to) return wrong(hours, "begins when it ends");
    span.from = *from;
    span.to = *to;
    return span;
}

}  // namespace

bool Span::holds(LocalTime now) const {
    const auto begins_on = [&](int day) { return (days >> static_cast<unsigned>(day) & 1u) != 0; };
    if (from < to) return begins_on(now.day) && from <= now.second && now.second < to;
    return (begins_on(now.day) && from <= now.second) ||
           (begins_on((now.day + 6) % 7) && now.second < to);
}

Result<Windows> Windows::parse(const std::vector<std::string>& spans) {
    if (spans.size() > kMostEntries) return wrong(spans.front(), "is followed by too many others");
    Windows windows;
    for (const std::string& text : spans) {
        const auto span = span_of(text);
        if (!span) return span.error();
        windows.spans_.push_back(*span);
        windows.text_ += (windows.text_.empty() ? "" : "; ") + text;
    }
    return windows;
}

bool Windows::open(LocalTime now) const {
    return spans_.empty() || std::any_of(spans_.begin(), spans_.end(),
                                         [&](const Span& span) { return span.holds(now); });
}

// Days have commas too: an entry ends behind its rate, which is the last of its words.
Result<Timetable> Timetable::parse(std::string_view text) {
    Timetable timetable;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const std::size_t words = std::min(text.find_first_of(" \t"), text.size());
        const std::size_t end = std::min(text.find(',', words), text.size());
        const std::string_view entry = trimmed(text.substr(0, end));
        const std::size_t last = entry.find_last_of(" \t");
        if (last == entry.npos) return wrong(entry, "is no span of time with a rate behind it");
        const auto span = span_of(entry.substr(0, last));
        if (!span) return span.error();
        BitRate rate;
        if (const std::string_view word = entry.substr(last + 1); word != "max") {
            const auto parsed = parse_rate(word);
            if (!parsed || parsed->bits_per_second < 1000) {
                return wrong(word, "is no rate of 1kbit/s or more, and not max");
            }
            rate = *parsed;
        }
        timetable.entries_.push_back({*span, rate});
        if (timetable.entries_.size() > kMostEntries) return wrong(entry, "is one entry too many");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return timetable;
}

BitRate Timetable::at(LocalTime now) const {
    const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& each) { return each.span.holds(now); });
    return entry == entries_.end() ? BitRate{0} : entry->rate;
}

}  // namespace lambda::client::replicate
