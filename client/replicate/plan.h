// What a run would do at one destination, and why: from what stands at the sources and there. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/replicate/job.h"
#include "client/replicate/listing.h"
#include "common/base/file_range.h"

namespace lambda::client::replicate {

enum class Change : std::uint8_t {
    none,
    create,
    replace,  // a file whose size or time differs
    adjust,   // a directory's time or mode, a file's mode alone, or a link
    refuse,   // it is said and left as it is
};

struct Decision {
    Change change = Change::none;
    std::string why{};
    bool size = false;  // differs
    bool time = false;
    bool mode = false;
};

// What could not be looked at is tried, but where the job spares something that may stand there.
Decision decide(const Standing& source, const There& there, Which which, Conflict conflict);

// Eleven characters as of rsync --itemize-changes: "<f+++++++++" is a file that is new at a server,
// ">f.st......" one that comes from there with another size and time. "*refused   ":
// Change::refuse.
std::string itemised(const Decision& decision, Kind kind, session::Direction direction);

struct Step {
    std::uint32_t entry = 0;  // of Listing::entries
    Decision decision;
};
struct SitePlan {
    std::vector<Step> steps;  // what is to be done, in the order of the listing
    Tally same;               // files that are as they should be
    Tally left;               // that are not, and that the job leaves as they are, or out
};
// `there` has an element for each entry.
SitePlan plan_site(const Listing& source, const std::vector<There>& there, Which which,
                   Conflict conflict);

// A file as ranges of about `most` bytes, each on the grain of a stage; none where it is no larger
// than that. kMostRanges at most: then they are larger.
constexpr std::size_t kMostRanges = 10'000;
std::vector<Range> ranges_of(std::uint64_t size, std::uint64_t most);

// What all who carry pieces of one file call their stage; another name for another version of it.
std::string stage_name(const std::string& epoch, const Site& site, const std::string& name,
                       const Standing& standing);

// The patterns by which a walk meets all directories, `links` (names of entries) and nothing else.
std::vector<transfer::Rule> rules_of_tidying(const std::vector<transfer::Rule>& rules,
                                             const std::vector<std::string>& links);

}  // namespace lambda::client::replicate
