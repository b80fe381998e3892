// What a replication job is to do: one YAML file, a flat map (docs/replication.md has every key).
// The client's settings (stripes, congestion, memory, ...) may stand in it too, and overrule
// client.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/command_line/arguments.h"
#include "client/remote/place.h"
#include "client/replicate/calendar.h"
#include "common/base/result.h"
#include "common/base/time.h"
#include "common/session/terms.h"
#include "common/transfer/record.h"
#include "config/client_settings.h"
#include "config/schema.h"

namespace lambda::client::replicate {

// A destination's file that differs from the source's and is newer than it.
enum class Conflict { replace, keep, fail };
// Which files are moved, by what stands at the destination.
enum class Which { all, existing, missing };

// Where one source stands.
struct SourceRoot {
    std::string text;  // as the job has it
    std::string path;  // here, or at the server
    std::string name;  // what it becomes at the destinations; ".": its contents

    bool contents() const { return name == "."; }
    // Where the entry `below` a destination (Entry::name) is read.
    std::string path_of(const std::string& below) const;
};

struct Site {
    std::string text;  // as the job has it
    Server server;     // the other end: of the destination (put), or of the sources (get)
    std::string path;  // the directory at the destination

    std::string place() const;  // the same for all movers, however their jobs spell it
};

struct Job {
    std::string file;  // absolute
    std::string name;
    session::Direction direction = session::Direction::put;
    std::optional<Server> source;  // put: the sources are there, and servers copy among themselves
    std::vector<SourceRoot> roots;
    std::vector<Site> sites;

    std::vector<transfer::Rule> rules;  // the first that matches decides
    ports::Links links = ports::Links::keep;
    bool archive = false;
    Conflict conflict = Conflict::replace;
    Which which = Which::all;

    config::ClientSettings settings;
    Timetable rates;
    Windows windows;
    std::uint16_t lanes = 0;  // sessions at a time
    std::uint32_t batch_files = 1000;
    std::uint64_t batch_size = 256 * MiB;          // a file of as much or more goes alone
    std::uint32_t retries = 3;                     // further tries of a file that failed
    Duration back_off = std::chrono::seconds(10);  // before the second try; doubles
    Duration longest_back_off = std::chrono::minutes(10);
    Duration patience = std::chrono::hours(1);  // with a site that cannot be reached

    std::string password_file;
    std::string source_password_file;   // of `source`
    Connect connect = Connect::either;  // of `source` and a site: who dials the other
    bool relay = false;                 // a site that is done serves others
    std::string before, after;          // commands
    std::string webhook;                // http://...
    Duration hook_timeout = std::chrono::hours(1);
    std::string state;  // the file of the SQLite database, or postgresql://...
    // Of a fleet: how long a mover's lease lives without a heartbeat, and from which size on files
    // are cut into ranges, of that size too.
    Duration lease = std::chrono::minutes(1);
    std::uint64_t split_size = 1 * GiB;

    // What must not change while a run is unfinished: sources, destinations, rules.
    std::string shape() const;
    // Whether one session carries files of several directories: what is local has any name there.
    bool carries_trees() const { return direction == session::Direction::put && !source; }
    // Where the sources stand; nothing: here.
    std::optional<Server> source_server() const;
    // Whether the destinations are here, on each of several hosts (`shared`: the state is theirs).
    bool marks(bool shared) const { return shared && direction == session::Direction::get; }
    // The payload of one lane; 0: no limit.
    BitRate lane_rate(LocalTime now) const;
};

// Errors (Fault::usage) read "FILE:LINE: KEY: what is wrong; allowed: ...". Paths in the file are
// relative to its directory. `settings`: where the job's own begin.
Result<Job> load_job(const std::string& file, const config::ClientSettings& settings);
Result<Job> parse_job(std::string_view text, const std::string& file,
                      const config::ClientSettings& settings);

// The keys that are not the client's settings, for documentation: they read nothing.
std::vector<config::Key> job_keys();

}  // namespace lambda::client::replicate
