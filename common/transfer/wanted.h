// What a receiver asked for, held against what is sent: a sender may send and offer that, and what
// lies below it, and nothing else (docs/protocol.md §7). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/transfer/record.h"

namespace lambda::transfer {

class Wanted {
  public:
    // `archive`: with owners and extended attributes.
    Wanted(const std::vector<WantRecord>& wants, bool archive);
    // False: the record is of an entry, or tells what of one, that nobody asked for. `at_top`: an
    // offer lies in no directory.
    bool covers(const Record& record, bool at_top);
    // What was asked for by its name, would not be left out by the rules of the walk, and of which
    // no record was; "." where it is what a directory holds.
    std::vector<std::string> unheard(const std::vector<Rule>& rules) const;

  private:
    bool covers(std::string_view name);

    const bool archive_;
    bool contents_ = false;  // of a directory: any name
    std::vector<std::string> patterns_;
    std::map<std::string, bool, std::less<>> names_;  // whether it was heard of
};

}  // namespace lambda::transfer
