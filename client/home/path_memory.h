// What a path carried last, so that the next transfer over it need not search its rate from the
// bottom: at 100 ms that takes longer than 30 MB at 1 Gbit/s. A start at half of it is safe where
// the round trip is what it was (after "Careful Resume" of the IETF's transport group, which
// jumps as far), and the law goes on from there as from any other start. Kept for each server and
// direction in the user's state. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/home/marks.h"
#include "common/base/time.h"
#include "common/base/units.h"

namespace lambda::client {

struct KnownPath {
    BitRate carried;
    Duration round_trip;
    bool operator==(const KnownPath&) const = default;
};

// Of what a mark or a peer says; nothing: it tells nothing, or makes no sense. Pure.
std::optional<KnownPath> known_path(std::uint64_t bits_per_second, std::uint64_t round_trip_us);
// What a transfer starts at, over all stripes. Pure.
BitRate start_of(const KnownPath& known);
// Whether a connection that shows `round_trip` goes over the path that is known, and that carried
// enough to be of use. Pure.
bool is_known(const KnownPath& known, Duration round_trip);
// What is known once a transfer carried so much. One that was short or had a slow disk says little:
// what was known before fades by half. Pure.
KnownPath learnt(const std::optional<KnownPath>& before, const KnownPath& now);

class PathMemory {
  public:
    static PathMemory of_user();
    explicit PathMemory(Marks marks) : marks_(std::move(marks)) {}

    // `path`: its ends and direction. What is damaged is not known.
    std::optional<KnownPath> find(const std::string& path) const;
    // What is of use. What can't be kept is not: the next transfer starts lower, and says nothing.
    void keep(const std::string& path, const KnownPath& known) const;

  private:
    Marks marks_;
};

}  // namespace lambda::client
