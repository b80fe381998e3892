// The table of keys of one settings file. Each key names the field it fills, what is allowed and
// one line of documentation; parsing, checking, docs/settings.md and the shipped files are all made
// from it, so they cannot disagree. Defaults are the fields' values when the table is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"
#include "config/yaml_document.h"

namespace lambda::config {

struct Key {
    std::string name;
    std::string allowed;        // "1 to 64", "one of private, safe, clear"
    std::string default_value;  // as it stands in YAML
    std::string documentation;  // one sentence or two
    // Fills the field. Returns what is wrong, or nothing.
    std::function<std::optional<std::string>(const Entry&)> read;
};

// The wording of a key.
struct Label {
    std::string name;
    std::string documentation;
};

template <typename T>
struct Bounds {
    T least;
    T most;
};

// Fields must outlive the schema: it writes into them.
class Schema {
  public:
    template <typename Integer>
    void count(Label label, Integer& field, Bounds<std::uint64_t> bounds) {
        add_count(std::move(label), bounds, field,
                  [&field](std::uint64_t value) { field = static_cast<Integer>(value); });
    }
    template <typename Integer>
    void size(Label label, Integer& field, Bounds<std::uint64_t> bounds,
              std::uint64_t multiple_of = 1) {
        add_size(std::move(label), bounds, multiple_of, field,
                 [&field](std::uint64_t value) { field = static_cast<Integer>(value); });
    }
    void optional_size(Label label, std::uint64_t& field, Bounds<std::uint64_t> bounds);  // 0: none
    void rate(Label label, BitRate& field, Bounds<BitRate> bounds);
    // 0: the word.
    void optional_rate(Label label, BitRate& field, Bounds<BitRate> bounds,
                       const std::string& word = "none");
    void duration(Label label, Duration& field, Bounds<Duration> bounds);
    void flag(Label label, bool& field);
    void law(Label label, std::string& field);  // of congestion control: its form alone
    // An absolute path, or empty where `may_be_empty`.
    void path(Label label, std::string& field, bool may_be_empty);
    void choice(Label label, std::string& field, std::vector<std::string> words);
    template <typename T>
    void choice(Label label, T& field, std::vector<std::pair<std::string, T>> values) {
        std::vector<std::string> words;
        std::string now;
        for (const auto& [word, value] : values) {
            words.push_back(word);
            if (value == field) now = word;
        }
        add_choice(
            std::move(label), std::move(words), now,
            [&field, values = std::move(values)](std::size_t i) { field = values[i].second; });
    }
    void add(Key key) { keys_.push_back(std::move(key)); }

    const std::vector<Key>& keys() const { return keys_; }

    // Fills the fields from the entries. The first error in the order of the file ends it.
    Result<void> apply(const std::vector<Entry>& entries, const std::string& file) const;

  private:
    using SetNumber = std::function<void(std::uint64_t)>;
    void add_count(Label label, Bounds<std::uint64_t> bounds, std::uint64_t now, SetNumber set);
    void add_size(Label label, Bounds<std::uint64_t> bounds, std::uint64_t multiple_of,
                  std::uint64_t now, SetNumber set);
    void add_choice(Label label, std::vector<std::string> words, const std::string& now,
                    std::function<void(std::size_t)> set);

    std::vector<Key> keys_;
};

// A rule over two keys that both are in range by themselves.
struct Relation {
    bool holds = true;
    std::vector<std::string> keys;  // the ones concerned
    std::string what;
};
// The first relation that fails, at the line of the last of its keys that the file has.
Result<void> check_relations(const std::vector<Relation>& relations,
                             const std::vector<Entry>& entries, const std::string& file);

// Exact, in the largest unit that divides: "176MiB", "100Mbit/s", "15min".
std::string exact_size(std::uint64_t bytes);
std::string exact_rate(BitRate rate);
std::string exact_duration(Duration duration);

}  // namespace lambda::config
