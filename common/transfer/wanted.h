// What a receiver asked for, held against what is sent: a sender may send and offer that, and what
// lies below it, and of that only what the walk it was told to make finds (docs/protocol.md §7).
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/transfer/filter.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

class Wanted {
  public:
    Wanted(const std::vector<WantRecord>& wants, const WalkRecord& walk);
    // False: the record is of an entry, or tells what of one, that nobody asked for. `at_top`: an
    // offer lies in no directory.
    bool covers(const Record& record, bool at_top);
    // What was asked for by its name, would not be left out by the rules of the walk, and of which
    // no record was; "." where it is what a directory holds.
    std::vector<std::string> unheard() const;

  private:
    bool covers(std::string_view name);
    bool walks(const std::string& name, bool directory);

    const ports::Links links_;
    const bool archive_;
    const Filter filter_;
    std::string walked_;     // a directory that is not left out, nor are those around it
    bool contents_ = false;  // of a directory: any name
    std::vector<std::string> patterns_;
    std::map<std::string, bool, std::less<>> names_;  // whether it was heard of
};

}  // namespace lambda::transfer
