// The seam between a job's conductor and what touches files and servers. Every method blocks; they
// are called from the lanes' threads, several at a time, and end early when their thread is
// interrupted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "client/remote/connection.h"
#include "client/replicate/fleet_mark.h"
#include "client/replicate/job.h"
#include "client/replicate/listing.h"
#include "client/replicate/store.h"
#include "common/mover/mover.h"

namespace lambda::client::replicate {

// Files of one directory to one site, from the sources or from a site that has them; a piece of one
// file; or, where `tidy` is set, the site's directories and the links among `tasks`.
struct Load {
    std::uint32_t site = 0;
    std::int64_t lease = 0;
    std::vector<Task> tasks{};
    std::string stage{};  // of a piece: stage_name()
    BitRate rate{};       // 0: no limit
    bool tidy = false;
    std::optional<std::uint32_t> from{};  // a site that is done; else the sources
    FleetMark
        mark{};  // of the site's listing, where several hosts mean a directory of theirs by it
};

using Standings = std::vector<There>;
using Progressed = std::function<void(const mover::Progress&)>;

class Carrier {
  public:
    virtual ~Carrier() = default;
    // What the sources hold.
    virtual Result<Listing> scan() const = 0;
    // What stands at the site for each entry of the sources, and for each task. Who looks leaves
    // the mark, who checks or carries sees it first.
    virtual Result<Standings> look(const Load& load, const Listing& source) const = 0;
    virtual Result<Standings> check(const Load& load) const = 0;
    // Whether this file could pass to the site, where that takes more than to look there: servers
    // meet for it as for a transfer. Nothing is touched.
    virtual Result<void> try_path(std::uint32_t site, const Entry& file) const = 0;
    // One session. Names in the outcome are those of the tasks; a range counts as no file. An
    // Error, or Outcome::cut: what is not in Outcome::done may be done or not.
    virtual Result<mover::Outcome> carry(const Load& load, const Progressed& progressed) const = 0;
};

// By the transfers of this client, and its control sessions. `access` as the user gave it; it and
// `job` are copied.
std::unique_ptr<Carrier> make_carrier(const Job& job, const Access& access);

}  // namespace lambda::client::replicate
