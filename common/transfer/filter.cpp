#include "common/transfer/filter.h"

#include <algorithm>
#include <cctype>

namespace lambda::transfer {
namespace {

bool in_class(std::string_view name, unsigned char c) {
    static constexpr struct {
        std::string_view name;
        int (*is)(int);
    } classes[] = {{"alnum", std::isalnum}, {"alpha", std::isalpha}, {"blank", std::isblank},
                   {"cntrl", std::iscntrl}, {"digit", std::isdigit}, {"graph", std::isgraph},
                   {"lower", std::islower}, {"print", std::isprint}, {"punct", std::ispunct},
                   {"space", std::isspace}, {"upper", std::isupper}, {"xdigit", std::isxdigit}};
    for (const auto& each : classes) {
        if (each.name == name) return each.is(c) != 0;
    }
    return false;
}

struct Set {
    bool sound = false;  // the bracket was closed
    bool holds = false;
    std::size_t end = 0;  // behind it
};

// A bracket expression at pattern[at] == '['.
Set match_set(std::string_view pattern, std::size_t at, unsigned char c) {
    Set set;
    std::size_t i = at + 1;
    const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
    if (negated) ++i;
    bool holds = false;
    for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
        if (pattern[i] == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
            const std::size_t end = pattern.find(":]", i + 2);
            if (end != pattern.npos) {
                holds = holds || in_class(pattern.substr(i + 2, end - i - 2), c);
                i = end + 2;
                continue;
            }
        }
        const auto one = [&]() -> unsigned char {
            if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
            return static_cast<unsigned char>(pattern[i++]);
        };
        const unsigned char low = one();
        unsigned char high = low;
        if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
            ++i;
            high = one();
        }
        holds = holds || (low <= c && c <= high);
    }
    if (i >= pattern.size()) return set;
    return {.sound = true, .holds = holds != negated && c != '/', .end = i + 1};
}

}  // namespace

// Greedy, with the last star of each kind to come back to: a '*' that cannot grow over a '/' gives
// way to the '**' before it. Linear in practice, the product of both lengths at worst.
bool wild_match(std::string_view pattern, std::string_view text) {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t p = 0, t = 0;
    std::size_t star_p = kNone, star_t = 0;    // behind the last '*', and where its match ends
    std::size_t stars_p = kNone, stars_t = 0;  // of the last "**"
    while (true) {
        bool fits = false;
        if (p < pattern.size() && pattern[p] == '*') {
            const std::size_t end = std::min(pattern.find_first_not_of('*', p), pattern.size());
            if (end - p > 1) {
                stars_p = end;
                stars_t = t;
                star_p = kNone;
            } else {
                star_p = end;
                star_t = t;
            }
            p = end;
            continue;
        }
        if (t == text.size()) {
            if (p == pattern.size()) return true;
        } else if (p < pattern.size()) {
            const auto c = static_cast<unsigned char>(text[t]);
            if (pattern[p] == '?') {
                fits = c != '/';
                p += fits ? 1 : 0;
            } else if (pattern[p] == '[') {
                const Set set = match_set(pattern, p, c);
                fits = set.sound && set.holds;
                if (fits) p = set.end;
            } else {
                const std::size_t literal =
                    pattern[p] == '\\' && p + 1 < pattern.size() ? p + 1 : p;
                fits = static_cast<unsigned char>(pattern[literal]) == c;
                if (fits) p = literal + 1;
            }
        }
        if (fits) {
            ++t;
        } else if (star_p != kNone && star_t < text.size() && text[star_t] != '/') {
            p = star_p;
            t = ++star_t;
        } else if (stars_p != kNone && stars_t < text.size()) {
            p = stars_p;
            t = ++stars_t;
            star_p = kNone;
        } else {
            return false;
        }
    }
}

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
    for (const Compiled& rule : rules_) {
        if (matches(rule, name, directory)) return !rule.include;
    }
    return false;
}

// rsync's rule_matches(): where a match may begin.
bool Filter::matches(const Compiled& rule, std::string_view name, bool directory) {
    if (rule.slashes == 0 && !rule.wild2) {
        name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
    }
    if (rule.directory && !directory && !rule.wild3_suffix) return false;
    std::string whole(name);
    // "**" and a '/' behind it may match nothing at the start; a trailing "/***" the directory.
    if (rule.wild2_prefix) whole.insert(whole.begin(), '/');
    if (rule.wild3_suffix && directory) whole.push_back('/');
    const std::string_view text = whole;
    const auto fits = [&](std::string_view part) {
        return rule.wild ? wild_match(rule.pattern, part) : rule.pattern == part;
    };
    if (rule.anchored || rule.wild2_prefix) return fits(text);
    if (!rule.wild2) {
        // As many components from the end as the pattern has.
        std::size_t start = text.size();
        for (std::size_t i = 0; i <= rule.slashes && start != text.npos; ++i) {
            start = start == 0 ? text.npos : text.rfind('/', start - 1);
        }
        return fits(start == text.npos ? text : text.substr(start + 1));
    }
    // From behind any slash on.
    for (std::size_t start = 0;;) {
        if (fits(text.substr(start))) return true;
        const std::size_t slash = text.find('/', start);
        if (slash == text.npos) return false;
        start = slash + 1;
    }
}

void add_rule(std::vector<Rule>& rules, std::string_view text, bool include) {
    if (text == "!") {
        rules.clear();
    } else if (text.starts_with("+ ") || text.starts_with("- ")) {
        rules.push_back({text[0] == '+', std::string(text.substr(2))});
    } else {
        rules.push_back({include, std::string(text)});
    }
}

void add_rules(std::vector<Rule>& rules, std::string_view content, bool include) {
    const char end_of_line = content.find('\0') != content.npos ? '\0' : '\n';
    while (!content.empty()) {
        const std::size_t end = std::min(content.find(end_of_line), content.size());
        std::string_view line = content.substr(0, end);
        content.remove_prefix(std::min(end + 1, content.size()));
        if (end_of_line == '\n' && line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line[0] == ';' || line[0] == '#') continue;
        add_rule(rules, line, include);
    }
}

}  // namespace lambda::transfer
