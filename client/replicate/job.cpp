#include "client/replicate/job.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "client/copy/plan.h"
#include "client/home/home.h"
#include "client/remote/connection.h"
#include "client/replicate/hooks.h"
#include "client/replicate/postgres.h"
#include "client/transfer/destination.h"
#include "common/base/hex.h"
#include "common/transfer/digest.h"
#include "common/transfer/filter.h"
#include "common/transfer/names.h"
#include "config/yaml_document.h"

namespace lambda::client::replicate {
namespace {

using Items = std::vector<std::string>;
using Wrong = std::optional<std::string>;

constexpr std::size_t kMostSources = 1000;
constexpr std::size_t kMostSites = 64;
constexpr const char* kOneValue = "a list, where one value is allowed";
constexpr Duration kLongest = std::chrono::hours(24 * 365);
// Of client.yaml, but of no use in a job: the log is open before the job is read, and how long a
// run tries is its `patience`.
constexpr std::array<std::string_view, 2> kNotOfJobs{"log_level", "retry_for"};

// What the file says before it is put together.
struct JobText {
    Items sources, destinations, include, exclude;
    std::string password_file, source_password_file, state;
};

config::Key key(const char* name, const char* allowed, const char* otherwise, const char* about,
                std::function<Wrong(const Items&)> take) {
    return {.name = name,
            .allowed = allowed,
            .default_value = otherwise,
            .documentation = about,
            .read = [take = std::move(take)](const config::Entry& entry) -> Wrong {
                if (entry.items.empty()) return "has no value";
                return take(entry.items);
            }};
}

void list(config::Schema& schema, config::Label label, Items& into, std::size_t most) {
    schema.add(key(label.name.c_str(), "one, or a list", "none", label.documentation.c_str(),
                   [&into, most](const Items& items) -> Wrong {
                       if (items.size() > most) return "has more than " + std::to_string(most);
                       for (const std::string& item : items) {
                           if (item.empty()) return "an item is empty";
                       }
                       into = items;
                       return std::nullopt;
                   }));
}

void text(config::Schema& schema, config::Label label, const char* allowed, const char* otherwise,
          std::string& into) {
    schema.add(key(label.name.c_str(), allowed, otherwise, label.documentation.c_str(),
                   [&into](const Items& items) -> Wrong {
                       if (items.size() != 1) return kOneValue;
                       into = items.front();
                       return std::nullopt;
                   }));
}

void add_places(config::Schema& schema, Job& job, JobText& words) {
    text(schema, {"name", "What the job is called in reports."}, "a text", "the file's name",
         job.name);
    list(
        schema,
        {"sources",
         "Local places, or places at one server. `SOURCE/` means what the directory holds; else it "
         "lands under its own name."},
        words.sources, kMostSources);
    list(schema,
         {"destinations",
          "The directories that become like the sources: at servers, or here where the sources are "
          "at a server."},
         words.destinations, kMostSites);
    list(schema,
         {"include", "Patterns (rsync's) of what is not left out; they come before `exclude`."},
         words.include, transfer::kMaxRules);
    list(schema, {"exclude", "Patterns (rsync's) of what is left out."}, words.exclude,
         transfer::kMaxRules);
    text(schema,
         {"password_file",
          "Its first line is the password at every server of the job, or, where the sources are at "
          "one and the destinations at others, at every destination."},
         "a path", "as for put and get", words.password_file);
    text(schema,
         {"source_password_file",
          "Its first line is the password at the server of the sources, where the destinations "
          "are at others."},
         "a path", "as for copy", words.source_password_file);
    text(schema,
         {"state",
          "The database of the job: what is done, what is left, its history. In PostgreSQL, movers "
          "on several hosts share the job of this `name`."},
         "a path, or postgresql://[USER@]HOST/DATABASE",
         "`NAME-HASH.db` in `~/.local/state/lambda-ftp/replicate/`", words.state);
}

void add_choices(config::Schema& schema, Job& job) {
    schema.choice<ports::Links>(
        {"links", "Symbolic links: kept, followed (local sources), left out."}, job.links,
        {{"keep", ports::Links::keep},
         {"follow", ports::Links::follow},
         {"skip", ports::Links::skip}});
    schema.choice<Connect>({"connect",
                            "From servers to servers: which of them dials the other; else the "
                            "destination's, and the source's where that cannot."},
                           job.connect,
                           {{"either", Connect::either},
                            {"source", Connect::source},
                            {"destination", Connect::destination}});
    schema.flag({"relay",
                 "From servers to servers: a destination that has everything serves the next one, "
                 "in place of the source."},
                job.relay);
    schema.flag({"archive", "Owner, group, extended attributes and ACLs too."}, job.archive);
    schema.choice<Which>(
        {"which",
         "The files to move: all that differ, those alone that exist at the destination, or "
         "those alone that are missing there."},
        job.which,
        {{"all", Which::all}, {"existing", Which::existing}, {"missing", Which::missing}});
    schema.choice<Conflict>(
        {"conflict",
         "A destination's file that differs and is newer than the source's: it is replaced, "
         "kept, or said as a failure."},
        job.conflict,
        {{"replace", Conflict::replace}, {"keep", Conflict::keep}, {"fail", Conflict::fail}});
}

void add_pace(config::Schema& schema, Job& job) {
    schema.add(
        key("windows", "[DAYS] HH:MM-HH:MM, one or a list", "always",
            "When data may move, by the local clock: `mon-fri 20:00-06:00`, `sat,sun`. Outside of "
            "them the run waits.",
            [&job](const Items& items) -> Wrong {
                auto windows = Windows::parse(items);
                if (!windows) return windows.error().message;
                job.windows = *std::move(windows);
                return std::nullopt;
            }));
    schema.add(
        key("rates", "[DAYS] HH:MM-HH:MM RATE, several with commas", "max",
            "The most payload a second of the whole job, by the local clock: `08:00-18:00 "
            "200Mbit/s, 18:00-08:00 max`. The first that holds counts; `rate_limit` is never "
            "exceeded.",
            [&job](const Items& items) -> Wrong {
                std::string joined;
                for (const std::string& item : items) joined += (joined.empty() ? "" : ", ") + item;
                auto rates = Timetable::parse(joined);
                if (!rates)
                    return rates.error().message + "; one rate for all hours is `rate_limit`";
                job.rates = *std::move(rates);
                return std::nullopt;
            }));
    schema.count({"concurrency",
                  "Sessions at a time; they share rate and memory. 0: one for each "
                  "destination, 8 at most."},
                 job.lanes, {0, 16});
    schema.count(
        {"batch_files", "The most files that one session moves before their state is kept."},
        job.batch_files, {1, 1000});
    schema.size({"batch_size", "Likewise their bytes. A file of as much or more goes alone."},
                job.batch_size, {1 * MiB, 1024 * GiB});
    schema.count({"retries", "Further tries of a file that failed."}, job.retries, {0, 1000});
    schema.duration({"back_off", "The pause before the second try of a file; it doubles."},
                    job.back_off, {std::chrono::milliseconds(1), kLongest});
    schema.duration({"longest_back_off", "The most that such a pause grows to."},
                    job.longest_back_off, {std::chrono::milliseconds(1), kLongest});
    schema.duration({"patience",
                     "For how long a destination that cannot be reached is tried again; its "
                     "files are then left over."},
                    job.patience, {Duration{0}, kLongest});
}

void add_fleet(config::Schema& schema, Job& job) {
    schema.duration({"lease",
                     "What a mover has in hand is taken over by others when nothing was heard of "
                     "it for so long."},
                    job.lease, {std::chrono::seconds(1), std::chrono::hours(24)});
    schema.size({"split_size",
                 "A larger file is cut into ranges of this size, which several movers carry."},
                job.split_size, {1 * MiB, 1024 * GiB});
}

void add_hooks(config::Schema& schema, Job& job) {
    text(schema, {"before", "Run by sh before anything else; where it fails, nothing is done."},
         "a command", "none", job.before);
    text(schema,
         {"after",
          "Run by sh at the end of each run, with LAMBDA_EXIT_CODE and more in its "
          "environment."},
         "a command", "none", job.after);
    schema.add(key("webhook", "http://HOST[:PORT]/PATH", "none",
                   "Gets the run's summary at its end, by POST, as JSON.",
                   [&job](const Items& items) -> Wrong {
                       if (items.size() != 1) return kOneValue;
                       const auto hook = parse_webhook(items.front());
                       if (!hook) return hook.error().message;
                       job.webhook = items.front();
                       return std::nullopt;
                   }));
    schema.duration({"hook_timeout", "A command that runs for longer is ended."}, job.hook_timeout,
                    {std::chrono::seconds(1), kLongest});
}

config::Schema job_schema(Job& job, JobText& words) {
    config::Schema schema;
    add_places(schema, job, words);
    add_choices(schema, job);
    add_pace(schema, job);
    add_fleet(schema, job);
    add_hooks(schema, job);
    return schema;
}

int line_of(const std::vector<config::Entry>& entries, const char* name) {
    const auto at = std::find_if(entries.begin(), entries.end(),
                                 [&](const config::Entry& entry) { return entry.key == name; });
    return at == entries.end() ? 1 : at->line;
}

std::string from_file(const std::string& path, const Job& job) {
    return (std::filesystem::path(job.file).parent_path() / path).lexically_normal().string();
}

// However it is spelt.
std::string plain(const std::string& path) {
    std::string all = std::filesystem::path(path_at_server(path)).lexically_normal().string();
    if (all.size() > 1 && all.ends_with('/')) all.pop_back();
    return all;
}

std::string hash_of(const std::string& text) {
    return to_hex(transfer::leaf_digest(std::as_bytes(std::span(text)))).substr(0, 16);
}

std::string state_of(const std::string& text, const Job& job) {
    if (is_postgres(text)) return text;
    if (!text.empty()) return from_file(text, job);
    return state_directory() + "/replicate/" + std::filesystem::path(job.file).stem().string() +
           "-" + hash_of(job.file) + ".db";
}

// Fills roots, sites and direction. The error says what is wrong with `key`.
struct Misplaced {
    const char* key;
    std::string what;
};
std::optional<Misplaced> place(const JobText& words, Job& job) {
    if (words.sources.empty()) return Misplaced{"sources", "names no source"};
    if (words.destinations.empty()) return Misplaced{"destinations", "names no destination"};
    std::optional<Server> from;
    for (std::size_t i = 0; i < words.sources.size(); ++i) {
        const std::string& text = words.sources[i];
        const auto parsed = parse_place(text);
        if (!parsed) return Misplaced{"sources", parsed.error().sentence()};
        if (i == 0) from = parsed->server;
        if (parsed->server != from)
            return Misplaced{"sources", "'" + text +
                                            "' lies at another place than the first; make it "
                                            "two jobs"};
        const std::string path = parsed->server ? parsed->path : from_file(parsed->path, job);
        SourceRoot root{.text = text, .path = path, .name = name_of(parsed->path)};
        for (const SourceRoot& other : job.roots) {
            if (other.name == root.name)
                return Misplaced{"sources",
                                 "'" + text + "' would land where '" + other.text + "' does"};
        }
        job.roots.push_back(std::move(root));
    }
    job.direction = from ? session::Direction::get : session::Direction::put;
    for (const std::string& text : words.destinations) {
        const auto parsed = parse_place(text);
        if (!parsed) return Misplaced{"destinations", parsed.error().sentence()};
        if (job.sites.empty() && from && parsed->server) {
            job.source = from;
            job.direction = session::Direction::put;
        }
        if (from && parsed->server.has_value() != job.source.has_value())
            return Misplaced{"destinations", "'" + text + "' is " +
                                                 (parsed->server ? "at a server" : "here") +
                                                 " and the first is not; make it two jobs"};
        if (!from && !parsed->server)
            return Misplaced{"destinations", "'" + text +
                                                 "' is here as the sources are: one of both "
                                                 "must be at a server"};
        Site site{
            .text = text, .server = parsed->server ? *parsed->server : *from, .path = parsed->path};
        if (!parsed->server) site.path = from_file(parsed->path, job);
        if (site.path.empty()) site.path = "/";
        for (const Site& other : job.sites) {
            if (other.server == site.server && plain(other.path) == plain(site.path))
                return Misplaced{"destinations", "'" + text + "' stands twice"};
        }
        for (const SourceRoot& root : job.roots) {
            if (job.source && site.server == *from && words.exclude.empty() &&
                is_within(site.path, root.path))
                return Misplaced{"destinations",
                                 "'" + text + "' is the source '" + root.text +
                                     "', or lies within it; name a place outside, or leave it "
                                     "out by exclude"};
        }
        job.sites.push_back(std::move(site));
    }
    if (from && job.links == ports::Links::follow)
        return Misplaced{"links", "follow is for local sources; allowed: keep, skip"};
    if (job.connect != Connect::either && !job.source)
        return Misplaced{"connect", "is for sources at one server and destinations at others"};
    if (!words.source_password_file.empty() && !job.source)
        return Misplaced{"source_password_file",
                         "is for sources at one server and destinations at others; "
                         "password_file is of every server of this job"};
    if (job.relay && !job.source)
        return Misplaced{"relay", "is for sources at one server and destinations at others"};
    if (job.relay && (job.which != Which::all || job.conflict != Conflict::replace))
        return Misplaced{"relay",
                         "a destination that keeps what differs cannot serve others; it needs "
                         "which: all and conflict: replace"};
    if (words.state.find("://") != std::string::npos && !is_postgres(words.state))
        return Misplaced{"state",
                         "the scheme is unknown; allowed: a path, or "
                         "postgresql://[USER@]HOST/DATABASE"};
    return std::nullopt;
}

}  // namespace

std::string SourceRoot::path_of(const std::string& below) const {
    if (name == ".") {
        if (below == ".") return path;
        return path.ends_with('/') || path.empty() ? path + below : path + "/" + below;
    }
    return path + below.substr(name.size());  // `below` begins with the name
}

std::string Site::place() const {
    return server.user + '@' + server.endpoint() + '\0' + path;
}

std::string Job::shape() const {
    std::string all = direction == session::Direction::put ? "put" : "get";
    if (source) all += '\0' + source->user + '@' + source->endpoint();
    for (const SourceRoot& root : roots) all += '\0' + root.path + '\0' + root.name;
    for (const Site& site : sites) all += '\0' + site.place();
    for (const transfer::Rule& rule : rules)
        all += '\0' + ((rule.include ? "+" : "-") + rule.pattern);
    all += '\0' + std::to_string(static_cast<int>(links)) +
           std::to_string(static_cast<int>(archive)) + std::to_string(static_cast<int>(conflict)) +
           std::to_string(static_cast<int>(which));
    return hash_of(all);
}

std::optional<Server> Job::source_server() const {
    if (direction == session::Direction::get) return sites.front().server;
    return source;
}

BitRate Job::lane_rate(LocalTime now) const {
    const BitRate hours = lower(rates.at(now), settings.rate_hours.at(now.second / 60));
    return {lower(hours, settings.rate_limit).bits_per_second / lanes};
}

Result<Job> parse_job(std::string_view text, const std::string& file,
                      const config::ClientSettings& settings) {
    const auto entries = config::parse_document(text, file);
    if (!entries) return entries.error();
    Job job;
    JobText words;
    job.file = std::filesystem::absolute(file).lexically_normal().string();
    job.name = std::filesystem::path(file).stem().string();
    job.settings = settings;
    config::Schema schema = job_schema(job, words);
    const config::Schema client = config::client_schema(job.settings);
    for (const config::Key& each : client.keys()) {
        if (std::ranges::find(kNotOfJobs, each.name) == kNotOfJobs.end()) schema.add(each);
    }
    if (const auto applied = schema.apply(*entries, file); !applied) return applied.error();
    if (const auto misplaced = place(words, job)) {
        return config::setting_error(file, line_of(*entries, misplaced->key), misplaced->key,
                                     misplaced->what);
    }
    for (const bool include : {true, false}) {
        for (const std::string& pattern : include ? words.include : words.exclude) {
            if (transfer::add_rule(job.rules, pattern, include)) continue;
            const char* const key = include ? "include" : "exclude";
            return config::setting_error(file, line_of(*entries, key), key,
                                         "a rule has no pattern");
        }
    }
    if (job.lanes == 0)
        job.lanes = static_cast<std::uint16_t>(std::min<std::size_t>(job.sites.size(), 8));
    if (!words.password_file.empty()) job.password_file = from_file(words.password_file, job);
    if (!words.source_password_file.empty())
        job.source_password_file = from_file(words.source_password_file, job);
    job.state = state_of(words.state, job);
    return job;
}

Result<Job> load_job(const std::string& file, const config::ClientSettings& settings) {
    const auto text = config::read_document(file, "the job");
    if (!text) return text.error();
    return parse_job(*text, file, settings);
}

std::vector<config::Key> job_keys() {
    Job job;
    JobText words;
    std::vector<config::Key> keys = job_schema(job, words).keys();
    for (config::Key& each : keys) each.read = nullptr;  // it would fill a job that is gone
    return keys;
}

}  // namespace lambda::client::replicate
