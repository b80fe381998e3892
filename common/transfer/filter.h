// Which entries of a tree are left out: rsync's include and exclude patterns (rsync(1), "FILTER
// RULES" and "INCLUDE/EXCLUDE PATTERN RULES"; its `!`, merge files and per-directory rules are not
// among them). The first rule that matches decides; where none does, the entry is sent. Pure.
//
// A pattern that begins with '/' is anchored at the top of the transfer; one that ends with '/'
// matches directories alone. '*' and '?' stop at '/', '**' does not, '[...]' is one character of a
// set. Without a '/' or '**' it is held against the last component, else against the end of the
// name. However they are made: all that may be take a processor less than a second for a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

class Filter {
  public:
    explicit Filter(const std::vector<Rule>& rules);
    bool excludes(std::string_view name, bool directory) const;

  private:
    struct Compiled {
        bool include = false;
        std::string pattern;
        bool directory = false;  // alone
        bool anchored = false;
        bool wild = false;          // has * ? or [
        bool wild2 = false;         // has **
        bool wild2_prefix = false;  // begins with **
        bool wild3_suffix = false;  // ends with ***: the directory too
        std::size_t slashes = 0;
    };
    class Text;
    class Places;
    friend bool wild_match(std::string_view pattern, std::string_view text);
    static bool matches(const Compiled& rule, const Text& text, bool directory);
    std::vector<Compiled> rules_;
};

// The text of an option: "+ PATTERN" and "- PATTERN" overrule what the option says, and "!" drops
// the rules before it. False: there is no pattern.
[[nodiscard]] bool add_rule(std::vector<Rule>& rules, std::string_view text, bool include);
// Of a file of patterns, one a line (or each ended by a NUL, where there is one): empty lines and
// those that begin with ';' or '#' are none. False: a rule has no pattern.
[[nodiscard]] bool add_rules(std::vector<Rule>& rules, std::string_view content, bool include);

// '*' and '?' do not match '/', "**" does.
bool wild_match(std::string_view pattern, std::string_view text);
bool has_wildcards(std::string_view text);

}  // namespace lambda::transfer
