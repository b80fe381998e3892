#include "common/transfer/filter.h"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <cstdint>
#include <optional>

namespace lambda::transfer {
namespace {

using Words = std::vector<std::uint64_t>;
using Characters = std::bitset<256>;

constexpr std::size_t kWord = 64;

unsigned char byte_of(char c) {
    return static_cast<unsigned char>(c);
}

// False: there is no such class.
bool add_class(Characters& set, std::string_view name) {
    static constexpr struct {
        std::string_view name;
        int (*is)(int);
    } classes[] = {{"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank},
                   {"cntrl", std::iscntrl}, {"digit", std::isdigit}, {"graph", std::isgraph},
                   {"lower", std::islower}, {"print", std::isprint}, {"punct", std::ispunct},
                   {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
    const auto found = std::ranges::find(classes, name, [](const auto& each) { return each.name; });
    if (found == std::end(classes)) return false;
    for (int c = 0; c < 256; ++c) {
        if (found->is(c) != 0) set.set(static_cast<std::size_t>(c));
    }
    return true;
}

// The bracket expression at pattern[at] == '[', and moves `at` behind it; nothing where it is not
// closed, or names a class that is none: then nothing matches. As rsync, the low end of a range
// that is turned round is in it.
std::optional<Characters> take_set(std::string_view pattern, std::size_t& at) {
    std::size_t i = at + 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated) ++i;
    Characters set;
    for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
        if (pattern[i] == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
            const std::size_t end = pattern.find(']', i + 2);
            if (end == pattern.npos) return std::nullopt;
            if (end > i + 2 && pattern[end - 1] == ':') {
                if (!add_class(set, pattern.substr(i + 2, end - i - 3))) return std::nullopt;
                i = end + 1;
                continue;
            }
        }
        const auto one = [&] {
            if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
            return byte_of(pattern[i++]);
        };
        const unsigned low = one();
        unsigned high = low;
        if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
            ++i;
            high = one();
        }
        set.set(low);
        for (unsigned c = low; c <= high; ++c) set.set(c);
    }
    if (i >= pattern.size()) return std::nullopt;
    at = i + 1;
    if (negated) set.flip();
    return set.reset('/');
}

}  // namespace

// A name between two slashes, and where each character stands in that: a bit for each place.
class Filter::Text {
  public:
    static constexpr std::size_t kBegin = 1;  // of the name

    explicit Text(std::string_view name)
        : text_("/" + std::string(name) + "/"),
          words_(text_.size() / kWord + 1),
          where_(words_ * Characters().size()) {
        for (std::size_t i = 0; i < text_.size(); ++i)
            where_[byte_of(text_[i]) * words_ + i / kWord] |= std::uint64_t{1} << i % kWord;
    }

    std::string_view name() const { return std::string_view(text_).substr(kBegin, end() - kBegin); }
    std::size_t end() const { return text_.size() - 1; }
    std::size_t words() const { return words_; }
    const std::uint64_t* where(char c) const { return &where_[byte_of(c) * words_]; }
    // Of a word; of those behind all of `among` nothing is said.
    std::uint64_t where(const Characters& set, std::size_t word, std::uint64_t among) const {
        const std::string_view part = std::string_view(text_).substr(word * kWord, kWord);
        std::uint64_t in = 0;
        for (std::size_t i = 0; i < part.size() && among >> i != 0; ++i)
            in |= std::uint64_t{set[byte_of(part[i])]} << i;
        return in;
    }

  private:
    std::string text_;
    std::size_t words_;
    Words where_;
};

// Where what was matched of a pattern so far may end: all such places at once.
class Filter::Places {
  public:
    explicit Places(const Text& text) : text_(text), bits_(text.words()) {}

    void add(std::size_t place) { bits_[place / kWord] |= std::uint64_t{1} << place % kWord; }
    bool has(std::size_t place) const { return (bits_[place / kWord] >> place % kWord & 1) != 0; }

    // To behind all of the pattern: no slower than its length, times the words of the text.
    bool pass(std::string_view pattern) {
        for (std::size_t p = 0; p < pattern.size();) {
            const char c = pattern[p];
            if (c == '*') {
                const std::size_t end = std::min(pattern.find_first_not_of('*', p), pattern.size());
                end - p > 1 ? spread_all() : spread();
                p = end;
                continue;
            }
            bool any = false;
            if (c == '[') {
                const auto set = take_set(pattern, p);
                any = set && pass_one(*set);
            } else if (c == '?') {
                any = pass_any();
                ++p;
            } else {
                // One that escapes nothing matches nothing.
                if (c == '\\' && ++p == pattern.size()) return false;
                any = pass_one(pattern[p++]);
            }
            if (!any) return false;
        }
        return true;
    }

  private:
    // Each of these: whether there are any yet.
    bool pass_one(char c) {
        const std::uint64_t* at = text_.where(c);
        return pass_where([&](std::size_t i) { return at[i]; });
    }
    bool pass_any() {
        const std::uint64_t* slashes = text_.where('/');
        return pass_where([&](std::size_t i) { return ~slashes[i]; });
    }
    bool pass_one(const Characters& set) {
        return pass_where([&](std::size_t i) { return text_.where(set, i, bits_[i]); });
    }
    // '*': from each place on to the next slash. Added to the run of characters that it is in, a
    // place carries to that end.
    void spread() {
        const std::uint64_t* slashes = text_.where('/');
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < bits_.size(); ++i) {
            const std::uint64_t runs = ~slashes[i];
            std::uint64_t sum = 0;
            const bool over = __builtin_add_overflow(bits_[i] & runs, carry, &sum);
            carry = __builtin_add_overflow(sum, runs, &sum) || over ? 1 : 0;
            bits_[i] |= sum ^ runs;
        }
    }
    // "**": from the first on.
    void spread_all() {
        std::size_t i = 0;
        while (i < bits_.size() && bits_[i] == 0) ++i;
        if (i == bits_.size()) return;
        bits_[i] |= ~(bits_[i] - 1);
        std::fill(bits_.begin() + static_cast<std::ptrdiff_t>(i) + 1, bits_.end(),
                  ~std::uint64_t{});
    }

    template <typename Fitting>
    bool pass_where(Fitting fitting) {
        std::uint64_t carry = 0, any = 0;
        for (std::size_t i = 0; i < bits_.size(); ++i) {
            const std::uint64_t passed = bits_[i] & fitting(i);
            bits_[i] = passed << 1 | carry;
            carry = passed >> (kWord - 1);
            any |= bits_[i];
        }
        return any != 0;
    }
    const Text& text_;
    Words bits_;
};

bool has_wildcards(std::string_view text) {
    return text.find_first_of("*?[") != text.npos;
}

Filter::Filter(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
        Compiled compiled;
        compiled.include = rule.include;
        std::string_view pattern = rule.pattern;
        if (pattern.size() > 1 && pattern.back() == '/') {
            compiled.directory = true;
            pattern.remove_suffix(1);
        }
        compiled.slashes =
            static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '/'));
        compiled.anchored = pattern.starts_with('/');
        compiled.wild = has_wildcards(pattern);
        compiled.wild2 = pattern.find("**") != pattern.npos;
        compiled.wild2_prefix = pattern.starts_with("**");
        compiled.wild3_suffix = pattern.ends_with("***");
        if (compiled.anchored) pattern.remove_prefix(1);
        compiled.pattern = pattern;
        if (!compiled.pattern.empty()) rules_.push_back(std::move(compiled));
    }
}

bool Filter::excludes(std::string_view name, bool directory) const {
    if (rules_.empty()) return false;
    const Text text(name);
    for (const Compiled& rule : rules_) {
        if (matches(rule, text, directory)) return !rule.include;
    }
    return false;
}

// rsync's rule_matches(): where a match may begin.
bool Filter::matches(const Compiled& rule, const Text& text, bool directory) {
    if (rule.directory && !directory) return false;
    const std::string_view name = text.name();
    if (!rule.wild) {
        if (rule.anchored || name.size() <= rule.pattern.size()) return name == rule.pattern;
        return name.ends_with(rule.pattern) && name[name.size() - rule.pattern.size() - 1] == '/';
    }
    Places places(text);
    if (rule.wild2_prefix) {
        // "**" and a '/' behind it may match nothing at the start.
        places.add(Text::kBegin - 1);
    } else if (rule.anchored) {
        places.add(Text::kBegin);
    } else if (rule.wild2) {
        // From behind any slash on.
        places.add(Text::kBegin);
        for (std::size_t i = 0; i < name.size(); ++i) {
            if (name[i] == '/') places.add(Text::kBegin + i + 1);
        }
    } else {
        // As many components from the end as the pattern has slashes, one in a set among them, and
        // one more; a name with fewer is none for it.
        std::size_t start = name.size();
        for (std::size_t i = 0; i <= rule.slashes; ++i) {
            if (start == name.npos) return false;
            start = start == 0 ? name.npos : name.rfind('/', start - 1);
        }
        places.add(start == name.npos ? Text::kBegin : Text::kBegin + start + 1);
    }
    if (!places.pass(rule.pattern)) return false;
    // A trailing "/***" matches the directory, too.
    return places.has(text.end() + (rule.wild3_suffix && directory ? 1 : 0));
}

bool wild_match(std::string_view pattern, std::string_view text) {
    const Filter::Text whole(text);
    Filter::Places places(whole);
    places.add(Filter::Text::kBegin);
    return places.pass(pattern) && places.has(whole.end());
}

bool add_rule(std::vector<Rule>& rules, std::string_view text, bool include) {
    if (text == "!") {
        rules.clear();
        return true;
    }
    if (text.starts_with("+ ") || text.starts_with("- ")) {
        include = text[0] == '+';
        text.remove_prefix(2);
    }
    if (text.empty()) return false;
    rules.push_back({include, std::string(text)});
    return true;
}

bool add_rules(std::vector<Rule>& rules, std::string_view content, bool include) {
    const char end_of_line = content.find('\0') != content.npos ? '\0' : '\n';
    while (!content.empty()) {
        const std::size_t end = std::min(content.find(end_of_line), content.size());
        std::string_view line = content.substr(0, end);
        content.remove_prefix(std::min(end + 1, content.size()));
        if (end_of_line == '\n' && line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line[0] == ';' || line[0] == '#') continue;
        if (!add_rule(rules, line, include)) return false;
    }
    return true;
}

}  // namespace lambda::transfer
