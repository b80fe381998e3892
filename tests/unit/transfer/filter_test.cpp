// Patterns: what they match, and that none takes long.
#include "common/transfer/filter.h"

#include <chrono>
#include <random>

#include "tests/support/catch.h"

using namespace lambda::transfer;

namespace {

// As the words of filter.h have it, place by place: of '*', "**", '?', and sets without a ']'.
bool matches(std::string_view pattern, std::string_view text) {
    std::vector<bool> places(text.size() + 1);
    places[0] = true;
    while (!pattern.empty()) {
        const std::size_t stars = std::min(pattern.find_first_not_of('*'), pattern.size());
        for (std::size_t i = 0; stars > 0 && i < text.size(); ++i) {
            if (places[i] && (stars > 1 || text[i] != '/')) places[i + 1] = true;
        }
        pattern.remove_prefix(stars);
        if (pattern.empty()) break;
        const std::size_t end = pattern[0] == '[' ? pattern.find(']') : 0;
        const std::string_view set = pattern.substr(1, end == 0 ? 0 : end - 1);
        std::vector<bool> next(places.size());
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool fits = pattern[0] == '?' ? text[i] != '/'
                              : end == 0        ? pattern[0] == text[i]
                              : set[0] == '!'   ? set.find(text[i]) == set.npos && text[i] != '/'
                                                : set.find(text[i]) != set.npos;
            next[i + 1] = places[i] && fits;
        }
        places = std::move(next);
        pattern.remove_prefix(end + 1);
    }
    return places[text.size()];
}

}  // namespace

TEST_CASE("filter: wildcards match what they say, in short names and long ones") {
    std::mt19937 random(1);
    const auto some = [&](const std::vector<std::string>& parts, std::size_t count) {
        std::string made;
        for (; count > 0; --count) made += parts[random() % parts.size()];
        return made;
    };
    const std::vector<std::string> of_patterns = {"a", "a",  "b", "/",    "/",
                                                  "*", "**", "?", "[ab]", "[!a]"};
    std::size_t matched = 0;
    for (int i = 0; i < 100'000; ++i) {
        const std::string pattern = some(of_patterns, random() % 9);
        const std::string text =
            some({"a", "a", "b", "/"}, i % 8 == 0 ? random() % 200 : random() % 9);
        const bool fits = matches(pattern, text);
        matched += fits ? 1 : 0;
        if (wild_match(pattern, text) != fits) FAIL_CHECK(pattern + " against " + text);
    }
    CHECK(matched > 5000);
}

TEST_CASE("filter: sets") {
    CHECK(wild_match("[]a]x", "]x"));
    CHECK(wild_match("[a\\]]", "]"));
    CHECK(wild_match("[!a-c]", "d"));
    CHECK_FALSE(wild_match("[^a-c]", "b"));
    CHECK_FALSE(wild_match("[!a]", "/"));
    CHECK(wild_match("[[:digit:][:upper:]_]", "X"));
    CHECK_FALSE(wild_match("[[:digit:]]", "x"));
    CHECK(wild_match("[\xc0-\xff]", "\xe4"));
    CHECK_FALSE(wild_match("[a", "a"));
    CHECK(wild_match("[z-a]", "z"));
    CHECK_FALSE(wild_match("[z-a]", "a"));
    for (const std::string pattern : {"[![:foo:]]", "[[:foo:]a]", "[a[::]]", "[a[:b"})
        CHECK_FALSE(wild_match(pattern, "a"));
    CHECK(wild_match("[[:c]b:]]", "cb:]]"));
    CHECK(wild_match("[[:]x", "[x"));
    CHECK(wild_match("\\*", "*"));
    CHECK_FALSE(wild_match("a\\", "a\\"));
}

TEST_CASE("filter: corners, as rsync has them") {
    const auto excludes = [](const std::string& pattern, const std::string& name, bool directory) {
        return Filter({{.include = false, .pattern = pattern}}).excludes(name, directory);
    };
    for (const std::string pattern : {"**/***/", "***/", "f***/"}) {
        CHECK_FALSE(excludes(pattern, "f", false));
        CHECK(excludes(pattern, "f", true));
    }
    for (const std::string pattern : {"[!/]", "[a-c/]*"}) {
        CHECK_FALSE(excludes(pattern, "b", false));
        CHECK_FALSE(excludes(pattern, "x/b", false));
    }
    CHECK(excludes("a/[bc]", "x/a/b", false));
    CHECK_FALSE(excludes("?/a/[bc]", "a/b", false));
    CHECK(excludes("f\\", "f\\", false));
    CHECK_FALSE(excludes("?\\", "f\\", false));
}

TEST_CASE("filter: a rule without a pattern is none") {
    std::vector<Rule> rules;
    for (const std::string text : {"", "- ", "+ "}) CHECK_FALSE(add_rule(rules, text, false));
    CHECK_FALSE(add_rules(rules, "a\n- \n", false));
    CHECK(rules.size() == 1);
    CHECK(add_rules(rules, "# b\n\n!\n- c\n", true));
    REQUIRE(rules.size() == 1);
    CHECK_FALSE(rules[0].include);
}

TEST_CASE("hostile patterns: each is soon held against a name") {
    std::string name, pattern = "a/**";
    for (int i = 0; i < 2000; ++i) name += "a/";
    for (int i = 0; i < 1000; ++i) pattern += "a/";
    const Filter filter({{.include = false, .pattern = pattern + "*a*a*a*a*b"}});
    const auto began = std::chrono::steady_clock::now();
    CHECK_FALSE(filter.excludes(name + std::string(90, 'a'), false));
    CHECK(filter.excludes(name + std::string(90, 'a') + "b", false));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
}
