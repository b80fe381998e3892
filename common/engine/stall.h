// When a transfer that does not move is given up, and why. Both ends judge alike. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/engine/links.h"

namespace lambda::engine {

// How often an end that reads, writes or deletes for long says so.
constexpr Duration kPatience = std::chrono::seconds(20);

// How long an end waits for its own disk while nothing ends of all that it was asked for: a file
// may have to come from a tape, and a directory of millions of names takes its time. Then the disk
// is taken for dead. Until then the other end is asked for patience.
constexpr Duration kDiskPatience = std::chrono::minutes(30);

// What becomes of that which an end asked its disk for.
class DiskWatch {
  public:
    explicit DiskWatch(Time now) : moved_(now) {}
    // Every turn: whether something was asked for and did not end yet; how much ended so far.
    void look(Time now, bool works, std::uint64_t ended);
    // It works, and may be waited for.
    bool working(Time now) const { return works_ && !dead(now); }
    // Why the transfer should end now.
    std::optional<Error> stalled(Time now) const;

  private:
    bool dead(Time now) const { return now - moved_ > kDiskPatience; }

    Time moved_;
    bool works_ = false;
    std::uint64_t ended_ = 0;
};

// From when on a user is told why nothing moves.
constexpr Duration kStandstill = std::chrono::seconds(5);

// Whether anything moves.
class MotionWatch {
  public:
    explicit MotionWatch(Time now) : moved_at_(now) {}
    // Every turn: what moved so far, counted in whatever grows by it; packets told lost so far.
    void look(Time now, std::uint64_t moved, std::uint64_t lost) {
        if (moved != moved_) {
            moved_at_ = now;
            lost_then_ = lost;
        }
        if (lost != lost_) lost_at_ = now;
        moved_ = moved;
        lost_ = lost;
    }
    bool stands(Time now) const { return now - moved_at_ >= kStandstill; }
    // Losses are told long since, and more than a few probes': something arrives that shows them.
    bool loses() const {
        return lost_at_ - moved_at_ >= kStandstill / 2 && lost_ - lost_then_ >= kManyLost;
    }

  private:
    static constexpr std::uint64_t kManyLost = 40;
    Time moved_at_, lost_at_{};
    std::uint64_t moved_ = 0, lost_ = 0;
    std::uint64_t lost_then_ = 0;  // when something moved last
};

// Why nothing moves, as a user is told: what both ends can see.
inline constexpr std::string_view kNoConnection = "no feedback connection stands";
inline constexpr std::string_view kOwnDisk = "this end is at work on its disk";
inline constexpr std::string_view kTooLong =
    "short UDP packets arrive, those with the file do not: the path may take none as long as 1228 "
    "bytes (its MTU)";
inline constexpr std::string_view kUnread = "nobody reads what this end has to tell";

// Why the transfer should end now: no feedback connection for a minute, or no progress for two.
// `silence`: what it means that no UDP packet ever came across; null where one did. `standstill`:
// why nothing moves, as far as is known.
std::optional<Error> stalled(const Links& links, Time now, Time last_progress, const char* silence,
                             std::string_view standstill);

}  // namespace lambda::engine
