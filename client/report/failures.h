// Files that failed, as users are told of them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/engine/outcome.h"

namespace lambda::client {

// As users are told of a file that failed: what was in its way may pass (Fault::cut), but no
// session was cut.
Error failure_of(Error error);

// As a note tells what is tried again by itself: of a cut nobody has to run anything again.
Error passing(Error error);

// "PATH (on the SIDE server): MESSAGE; REMEDY": of one of several servers.
std::string sentence_at(const std::string& side, Error error);

// Why a directory failed is why all that lies below it fails: it has one line for them.
struct FailureLine {
    Error error;
    bool below_another = false;  // it stands in that one's line
    std::uint64_t below = 0;     // so many stand in this one's line
    // The end of its line.
    std::string for_those_below() const;
};
// One for each failure, in their order.
std::vector<FailureLine> failure_lines(const std::vector<engine::FileFailure>& failures);

}  // namespace lambda::client
