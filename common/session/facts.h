// Facts, RFC 3659 §7.2: "name=value;name=value; rest". Names are case-insensitive, held in lower
// case; a value has no ';', no blank and no control character. A fact that stands twice is refused,
// and so are more than kMaxFacts. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/result.h"

namespace lambda::session {

constexpr std::size_t kMaxFacts = 128;

// An Error of Fault::usage without a path: what the server answers with 501.
Error usage_error(std::string message, std::string remedy = {});

struct ParsedFacts;

class Facts {
  public:
    // The name must be new and in lower case, the value without ';', blanks and controls.
    Facts& add(std::string_view name, std::string_view value);
    Facts& add(std::string_view name, std::uint64_t value);

    static Result<ParsedFacts> parse(std::string_view text);
    std::string text() const;  // "name=value;name=value;"

    const std::string* find(std::string_view name) const;  // null: not there
    std::size_t size() const { return facts_.size(); }
    bool operator==(const Facts&) const = default;

  private:
    std::vector<std::pair<std::string, std::string>> facts_;
};

struct ParsedFacts {
    Facts facts;
    std::optional<std::string>
        rest;  // what follows the blank, raw; nothing where there is no blank
};

// Takes typed values out of facts and remembers the first that was missing or bad, so that a parser
// checks once, at its end. What is wrong gives the lowest allowed value.
class FactReader {
  public:
    explicit FactReader(const Facts& facts) : facts_(facts) {}

    std::uint64_t number(std::string_view name, std::uint64_t low, std::uint64_t high);
    // Likewise; `otherwise` where there is no such fact.
    std::uint64_t number_or(std::string_view name, std::uint64_t low, std::uint64_t high,
                            std::uint64_t otherwise);
    // The index of the value within `words`, in any case of letters.
    std::size_t choice(std::string_view name, std::span<const std::string_view> words);
    // Likewise; `otherwise` where there is no such fact.
    std::size_t choice_or(std::string_view name, std::span<const std::string_view> words,
                          std::size_t otherwise);
    bool flag(std::string_view name, bool otherwise);  // 0 or 1
    // Exactly out.size() bytes in hex digits.
    void hex(std::string_view name, ByteSpan out);
    // Any value; an empty one is refused.
    std::string word(std::string_view name);
    void refuse(std::string_view name, std::string_view allowed);

    const std::optional<Error>& error() const { return error_; }

  private:
    const std::string* required(std::string_view name);

    const Facts& facts_;
    std::optional<Error> error_;
};

// A whole decimal number without sign; nothing for anything else or beyond 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace lambda::session
