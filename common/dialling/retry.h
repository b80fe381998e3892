// When a lost session is dialled again: pauses that double, each with jitter, until the time is
// over. The time begins with the first session that stood, and anew with each that moved something.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "common/base/time.h"
#include "common/mover/mover.h"

namespace lambda::dialling {

class Retry {
  public:
    static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
    static constexpr Duration kLongestPause = std::chrono::seconds(60);

    Retry(Duration patience, std::uint64_t seed) : patience_(patience), random_(seed) {}

    // A session stood until `now`. One that moved nothing is no reason to go on for longer: where
    // servers can be spoken to and data cannot pass, each try would be cut, and the next one agreed
    // upon, for ever.
    void stood(Time now, bool moved);
    // How long to wait before the next try: between a half and all of the pause. Nothing when the
    // time is over, or no session ever stood.
    std::optional<Duration> pause(Time now);

  private:
    const Duration patience_;
    std::mt19937_64 random_;
    std::optional<Time> give_up_;
    Duration next_ = kFirstPause;
};

// Whether data passed.
bool moved_some(const mover::Outcome& outcome);
// Whether trying again may help.
bool may_pass(const Error& error);
// Likewise, where nobody is there to mend what refuses: what the network does may pass, a refusal
// does not.
bool comes_back(const Error& error);
// By a server that has no time or no room just now; it may be so before a session stands.
bool says_later(const Error& error);
// By the server, of the login, or by us, of its key: the answer will be the same.
bool refused(const Error& error);

// Why a file cannot be written now, where another transfer has one of them in hand; or null.
const Error* busy_file(const mover::Outcome& outcome);

// The outcome of several tries as one: what moved is summed; what stood there is what none of them
// moved.
void add_try(mover::Outcome& sum, const mover::Outcome& next);

// Tries as they are made, of which one may go over what the one before failed at.
class Tries {
  public:
    bool any() const { return last_.has_value(); }
    // It goes over what another transfer had in hand, in any case.
    void add(mover::Outcome next);
    // What failed in the last one is tried again by the next, which tells of it anew.
    void repeat() { repeats_ = true; }
    mover::Outcome all() const;

  private:
    mover::Outcome before_;  // of all but the last
    std::optional<mover::Outcome> last_;
    bool repeats_ = false;
};

}  // namespace lambda::dialling
