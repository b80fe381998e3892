// What stands at the two ends of a job. Values. A listing holds about 150 bytes and the name for
// each entry in memory, kMostEntries of them at most.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace lambda::client::replicate {

constexpr std::size_t kMostEntries = 20'000'000;
constexpr std::size_t kMostMissed = 1000;

enum class Kind : std::uint8_t { file, directory, link, other };

// What is compared.
struct Standing {
    Kind kind = Kind::file;
    std::uint64_t size = 0;     // files alone
    std::int64_t mtime_ns = 0;  // since 1970
    std::uint32_t mode = 0;     // permission bits
};

// What stands under a name at a destination: this, nothing, or, where it could not be looked at,
// nobody knows.
struct There {
    There(std::nullopt_t = std::nullopt) {}
    There(const std::optional<Standing>& found) : standing(found) {}
    There(const Standing& found) : standing(found) {}
    There(std::shared_ptr<const Error> why) : unseen(std::move(why)) {}

    std::optional<Standing> standing{};
    std::shared_ptr<const Error> unseen{};  // one for all that it hides
};

struct Tally {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};

// One name below a destination: '/'-separated, or "." for the destination itself.
struct Entry {
    std::uint32_t root = 0;  // of Job::roots
    std::string name;
    Standing standing;
};

// What no destination can get: it could not be looked at, or would land where another does.
struct Missed {
    std::uint32_t root = 0;
    std::string name;  // as of an Entry
    Error error;
};

// What the sources hold: a directory comes before what it holds.
struct Listing {
    std::vector<Entry> entries;
    std::vector<Missed> missed;       // kMostMissed of them
    std::uint64_t missed_beyond = 0;  // and so many more
    std::uint64_t skipped = 0;        // pipes, sockets, devices
    std::string first_skipped{};

    void skip(const std::string& name) {
        if (skipped++ == 0) first_skipped = name;
    }
    void miss(Missed what) {
        if (missed.size() < kMostMissed) {
            missed.push_back(std::move(what));
        } else {
            ++missed_beyond;
        }
    }
    // Of the entries what was missed, too: directories that are there and cannot be listed.
    void drop_missed() {
        std::set<std::pair<std::uint32_t, std::string_view>> names;
        for (const Missed& each : missed) names.emplace(each.root, each.name);
        if (names.empty()) return;
        std::erase_if(entries, [&](const Entry& each) {
            return each.standing.kind == Kind::directory && names.contains({each.root, each.name});
        });
    }
    // Of those beyond.
    std::optional<Error> untold() const {
        if (missed_beyond == 0) return std::nullopt;
        return Error{.fault = Fault::file,
                     .message = std::to_string(missed_beyond) +
                                " more entries of the sources could not be looked at, and are not "
                                "among what is left over",
                     .path = {},
                     .side = Side::local,
                     .remedy = "mend those that are told; then a run tells of the others"};
    }
};

}  // namespace lambda::client::replicate
