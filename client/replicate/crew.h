// The conductor's hands, his clock and his ears: lanes that each do one piece of work at a time.
// Production: lanes.h; tests: virtual time.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "client/replicate/calendar.h"
#include "client/replicate/carrier.h"

namespace lambda::client::replicate {

struct Work {
    enum class Kind { scan, look, check, carry };
    Kind kind = Kind::carry;
    Load load{};                              // site: all but scan; tasks: check, carry
    std::shared_ptr<const Listing> source{};  // look
};

struct Done {
    Work work;
    bool stopped = false;  // it was told to
    // By kind: what scan found, what stands (look, check), what was carried.
    std::variant<Result<Listing>, Result<Standings>, Result<mover::Outcome>> result;
};

class Crew {
  public:
    virtual ~Crew() = default;
    // For pauses and patience: it goes on evenly, though somebody sets the machine's clock.
    virtual WallTime now() const = 0;
    virtual LocalTime local() const = 0;
    // The user wants the program to end.
    virtual bool interrupted() const = 0;

    virtual std::size_t idle() const = 0;
    virtual std::size_t busy() const = 0;
    // Needs an idle lane.
    virtual void start(Work work) = 0;
    // All that are busy come to an end soon.
    virtual void stop() = 0;
    // Likewise those with work of this kind, or the one with this lease.
    virtual void stop(Work::Kind kind) = 0;
    virtual void stop(std::int64_t lease) = 0;
    virtual std::vector<Done> take() = 0;
    // What the lanes do now, for people: "12 of 40 files, 1.2 GiB of 3.0 GiB".
    virtual std::string doing() const = 0;
    // Until a lane is done, the user interrupts, or then.
    virtual void wait(WallTime until) = 0;
};

}  // namespace lambda::client::replicate
