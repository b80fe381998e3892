#include "config/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/session/terms.h"
#include "config/nearest_name.h"

namespace lambda::config {
namespace {

constexpr std::size_t kMaxPathBytes = 4096;  // PATH_MAX
constexpr const char* kNone = "none";

std::string in_quotes(const std::string& text) {
    return "'" + text + "'";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string trimmed(double value) {
    char text[32];
    const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
    return {text, end};
}

// The reader of a key that takes one value: `parse` gives the value or what is wrong.
template <typename Parse>
std::function<std::optional<std::string>(const Entry&)> single(Parse parse) {
    return [parse = std::move(parse)](const Entry& entry) -> std::optional<std::string> {
        if (entry.is_list) return "a list, where one value is allowed";
        if (entry.items.empty()) return "has no value";
        return parse(entry.items.front());
    };
}

template <typename T>
std::optional<std::string> outside(const std::string& text, const T& value,
                                   const Bounds<T>& bounds) {
    if (value >= bounds.least && value <= bounds.most) return std::nullopt;
    return in_quotes(text) + " is out of range";
}

std::string unknown_key(const std::string& name, const std::vector<Key>& keys) {
    std::vector<std::string> names;
    for (const Key& key : keys) names.push_back(key.name);
    const std::string nearest = nearest_name(name, names);
    if (!nearest.empty()) return "unknown key, did you mean " + nearest + "?";
    return "unknown key; allowed: " + joined(names);
}

}  // namespace

void Schema::add_count(Label label, Bounds<std::uint64_t> bounds, std::uint64_t now,
                       SetNumber set) {
    add({.name = std::move(label.name),
         .allowed = std::to_string(bounds.least) + " to " + std::to_string(bounds.most),
         .default_value = std::to_string(now),
         .documentation = std::move(label.documentation),
         .read = single(
             [bounds, set = std::move(set)](const std::string& text) -> std::optional<std::string> {
                 std::uint64_t value = 0;
                 const char* const end = text.data() + text.size();
                 const auto [stop, problem] = std::from_chars(text.data(), end, value);
                 if (problem == std::errc::result_out_of_range)
                     return in_quotes(text) + " is out of range";
                 if (problem != std::errc() || stop != end)
                     return in_quotes(text) + " is no whole number";
                 if (auto wrong = outside(text, value, bounds)) return wrong;
                 set(value);
                 return std::nullopt;
             })});
}

void Schema::add_size(Label label, Bounds<std::uint64_t> bounds, std::uint64_t multiple_of,
                      std::uint64_t now, SetNumber set) {
    std::string allowed = exact_size(bounds.least) + " to " + exact_size(bounds.most);
    if (multiple_of > 1) allowed += ", a multiple of " + exact_size(multiple_of);
    add({.name = std::move(label.name),
         .allowed = std::move(allowed),
         .default_value = exact_size(now),
         .documentation = std::move(label.documentation),
         .read = single([bounds, multiple_of, set = std::move(set)](
                            const std::string& text) -> std::optional<std::string> {
             const Result<std::uint64_t> value = parse_size(text);
             if (!value) return value.error().sentence();
             if (auto wrong = outside(text, *value, bounds)) return wrong;
             if (*value % multiple_of != 0) {
                 return in_quotes(text) + " is no multiple of " + exact_size(multiple_of);
             }
             set(*value);
             return std::nullopt;
         })});
}

void Schema::optional_size(Label label, std::uint64_t& field, Bounds<std::uint64_t> bounds) {
    size(std::move(label), field, bounds);
    Key& key = keys_.back();
    key.allowed = std::string(kNone) + ", or " + key.allowed;
    if (field == 0) key.default_value = kNone;
    key.read = [&field,
                read = std::move(key.read)](const Entry& entry) -> std::optional<std::string> {
        if (entry.is_list || entry.items.empty() || entry.items.front() != kNone)
            return read(entry);
        field = 0;
        return std::nullopt;
    };
}

void Schema::rate(Label label, BitRate& field, Bounds<BitRate> bounds) {
    add({.name = std::move(label.name),
         .allowed = exact_rate(bounds.least) + " to " + exact_rate(bounds.most),
         .default_value = exact_rate(field),
         .documentation = std::move(label.documentation),
         .read = single([&field, bounds](const std::string& text) -> std::optional<std::string> {
             const Result<BitRate> value = parse_rate(text);
             if (!value) return value.error().sentence();
             if (auto wrong = outside(text, *value, bounds)) return wrong;
             field = *value;
             return std::nullopt;
         })});
}

void Schema::optional_rate(Label label, BitRate& field, Bounds<BitRate> bounds,
                           const std::string& word) {
    rate(std::move(label), field, bounds);
    Key& key = keys_.back();
    key.allowed = word + ", or " + key.allowed;
    if (field.bits_per_second == 0) key.default_value = word;
    key.read = [&field, word,
                read = std::move(key.read)](const Entry& entry) -> std::optional<std::string> {
        if (entry.is_list || entry.items.empty() || entry.items.front() != word) return read(entry);
        field = BitRate{0};
        return std::nullopt;
    };
}

void Schema::duration(Label label, Duration& field, Bounds<Duration> bounds) {
    add({.name = std::move(label.name),
         .allowed = exact_duration(bounds.least) + " to " + exact_duration(bounds.most),
         .default_value = exact_duration(field),
         .documentation = std::move(label.documentation),
         .read = single([&field, bounds](const std::string& text) -> std::optional<std::string> {
             const Result<Duration> value = parse_duration(text);
             if (!value) return value.error().sentence();
             if (auto wrong = outside(text, *value, bounds)) return wrong;
             field = *value;
             return std::nullopt;
         })});
}

void Schema::flag(Label label, bool& field) {
    choice<bool>(std::move(label), field, {{"true", true}, {"false", false}});
    keys_.back().allowed = "true, false";
}

void Schema::law(Label label, std::string& field) {
    add({.name = std::move(label.name),
         .allowed = "NAME, or NAME:PARAMETER=VALUE with more after commas",
         .default_value = field,
         .documentation = std::move(label.documentation),
         .read = single([&field](const std::string& text) -> std::optional<std::string> {
             if (!session::is_law(text)) return in_quotes(text) + " is no such name";
             field = text;
             return std::nullopt;
         })});
}

void Schema::path(Label label, std::string& field, bool may_be_empty) {
    add({.name = std::move(label.name),
         .allowed = may_be_empty ? "an absolute path, or \"\"" : "an absolute path",
         .default_value = field.empty() ? "\"\"" : field,
         .documentation = std::move(label.documentation),
         .read =
             single([&field, may_be_empty](const std::string& text) -> std::optional<std::string> {
                 const bool good = text.empty() ? may_be_empty : text.front() == '/';
                 if (!good) return in_quotes(text) + " is no absolute path";
                 if (text.size() >= kMaxPathBytes) return "the path is too long";
                 field = text;
                 return std::nullopt;
             })});
}

void Schema::choice(Label label, std::string& field, std::vector<std::string> words) {
    add_choice(std::move(label), words, field,
               [&field, words](std::size_t i) { field = words[i]; });
}

void Schema::add_choice(Label label, std::vector<std::string> words, const std::string& now,
                        std::function<void(std::size_t)> set) {
    add({.name = std::move(label.name),
         .allowed = joined(words),
         .default_value = now,
         .documentation = std::move(label.documentation),
         .read = single(
             [words, set = std::move(set)](const std::string& text) -> std::optional<std::string> {
                 const auto at = std::find(words.begin(), words.end(), text);
                 if (at == words.end()) return in_quotes(text) + " is none of them";
                 set(static_cast<std::size_t>(at - words.begin()));
                 return std::nullopt;
             })});
}

Result<void> Schema::apply(const std::vector<Entry>& entries, const std::string& file) const {
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
        const auto same = [&entry](const auto& other) { return other.key == entry->key; };
        const auto key = std::find_if(keys_.begin(), keys_.end(),
                                      [&entry](const Key& k) { return k.name == entry->key; });
        if (key == keys_.end()) {
            const std::string shown =
                entry->key.size() > 80 ? entry->key.substr(0, 80) : entry->key;
            return setting_error(file, entry->line, shown, unknown_key(entry->key, keys_));
        }
        if (const auto before = std::find_if(entries.begin(), entry, same); before != entry) {
            return setting_error(
                file, entry->line, entry->key,
                "stands twice, first in line " + std::to_string(before->line) + "; allowed: once");
        }
        if (const auto wrong = key->read(*entry)) {
            return setting_error(file, entry->line, entry->key,
                                 *wrong + "; allowed: " + key->allowed);
        }
    }
    return {};
}

Result<void> check_relations(const std::vector<Relation>& relations,
                             const std::vector<Entry>& entries, const std::string& file) {
    for (const Relation& relation : relations) {
        if (relation.holds) continue;
        const auto concerned = [&relation](const Entry& entry) {
            return std::find(relation.keys.begin(), relation.keys.end(), entry.key) !=
                   relation.keys.end();
        };
        const auto last = std::find_if(entries.rbegin(), entries.rend(), concerned);
        LAMBDA_ASSERT(last != entries.rend());  // the defaults keep every relation
        return setting_error(file, last->line, last->key, relation.what);
    }
    return {};
}

std::string exact_size(std::uint64_t bytes) {
    static constexpr std::pair<std::uint64_t, const char*> kUnits[] = {
        {GiB * KiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}};
    for (const auto& [factor, name] : kUnits) {
        if (bytes >= factor && bytes % factor == 0) return std::to_string(bytes / factor) + name;
    }
    return std::to_string(bytes) + "B";
}

std::string exact_rate(BitRate rate) {
    static constexpr std::pair<double, const char*> kUnits[] = {
        {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}};
    for (const auto& [factor, name] : kUnits) {
        if (rate.bits_per_second >= factor) return trimmed(rate.bits_per_second / factor) + name;
    }
    return trimmed(rate.bits_per_second) + "bit/s";
}

std::string exact_duration(Duration duration) {
    if (duration == Duration::zero()) return "0s";
    static constexpr std::pair<Duration, const char*> kUnits[] = {
        {std::chrono::hours(1), "h"},
        {std::chrono::minutes(1), "min"},
        {std::chrono::seconds(1), "s"},
        {std::chrono::milliseconds(1), "ms"},
        {std::chrono::microseconds(1), "us"}};
    for (const auto& [unit, name] : kUnits) {
        if (duration >= unit && duration % unit == Duration::zero()) {
            return std::to_string(duration / unit) + name;
        }
    }
    return std::to_string(duration.count()) + "ns";
}

}  // namespace lambda::config
