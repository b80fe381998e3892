#include "client/replicate/words.h"

#include <algorithm>
#include <ctime>

#include "client/report/utc_text.h"
#include "common/base/units.h"

namespace lambda::client::replicate {
namespace {

std::string at(WallTime time, bool utc) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    if (utc) return utc_text(seconds);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    return text;
}

std::string files(const Tally& tally) {
    return std::to_string(tally.files) + (tally.files == 1 ? " file, " : " files, ") +
           format_size(tally.bytes);
}

std::string given_up(std::uint64_t sites) {
    return std::to_string(sites) + (sites == 1 ? " destination" : " destinations") + " given up";
}

const char* word(Change change) {
    switch (change) {
        case Change::none:
            return "none";
        case Change::create:
            return "create";
        case Change::replace:
            return "replace";
        case Change::adjust:
            return "adjust";
        case Change::refuse:
            return "refuse";
    }
    LAMBDA_ASSERT(false);
}

bool settled(SiteState state) {
    return state == SiteState::done || state == SiteState::given_up;
}

// Of what nobody does, nothing is under way.
const char* word_of(SiteState state, SiteSaid::Run run) {
    if (settled(state)) return word(state);
    switch (run) {
        case SiteSaid::Run::goes_on:
            return word(state);
        case SiteSaid::Run::paused:
            return "paused";
        case SiteSaid::Run::cut:
            return "cut";
        case SiteSaid::Run::over:
            return "not done";
    }
    LAMBDA_ASSERT(false);
}

JsonObject json_of(const SiteStatus& status, SiteSaid::Run run) {
    JsonObject json;
    json.text("destination", status.place)
        .text("state", word_of(status.state, run))
        .number("same_files", status.same.files)
        .number("same_bytes", status.same.bytes)
        .number("moved_files", status.moved.files)
        .number("moved_bytes", status.moved.bytes)
        .number("waiting_files", status.waiting.files)
        .number("waiting_bytes", status.waiting.bytes)
        .number("failed", status.failed)
        .text("trouble", status.trouble);
    return json;
}

std::string json_of(const std::vector<SiteStatus>& sites, SiteSaid::Run run) {
    std::string list;
    for (const SiteStatus& site : sites)
        list += (list.empty() ? "" : ",") + json_of(site, run).line();
    return "[" + list + "]";
}

const Mover* alive(const std::vector<Mover>& movers, const std::string& owner) {
    const auto found = std::find_if(movers.begin(), movers.end(),
                                    [&](const Mover& mover) { return mover.owner == owner; });
    return found == movers.end() ? nullptr : &*found;
}

// All that had a part, and those alive that have none yet.
std::string json_of_movers(const JobStatus& status) {
    std::vector<MoverTally> all = status.tallies;
    for (const Mover& mover : status.movers) {
        const bool known = std::any_of(all.begin(), all.end(), [&](const MoverTally& tally) {
            return tally.owner == mover.owner;
        });
        if (!known) all.push_back({.owner = mover.owner});
    }
    std::string list;
    for (const MoverTally& tally : all) {
        const Mover* const mover = alive(status.movers, tally.owner);
        JsonObject json;
        json.text("mover", tally.owner)
            .raw("alive", mover != nullptr ? "true" : "false")
            .text("doing", mover != nullptr ? mover->doing : "")
            .number("files", tally.moved.files)
            .number("bytes", tally.moved.bytes)
            .number("leases", tally.leases)
            .number("lost_leases", tally.lost);
        list += (list.empty() ? "" : ",") + json.line();
    }
    return "[" + list + "]";
}

std::string doing(const std::vector<Mover>& movers) {
    std::string text;
    for (const Mover& mover : movers) {
        if (mover.doing.empty()) continue;
        text += (text.empty() ? "" : "; ") + mover.doing;
    }
    return text;
}

// Adds the run's fields.
JsonObject& describe(JsonObject& json, const Run& run, const char* state) {
    json.number("run", static_cast<std::uint64_t>(run.id))
        .text("state", state)
        .text("started", at(run.started, true));
    if (run.ended != kNoTime) json.text("ended", at(run.ended, true));
    return json;
}

}  // namespace

const char* word(RunState state) {
    switch (state) {
        case RunState::running:
            return "running";
        case RunState::done:
            return "done";
        case RunState::left_over:
            return "left over";
        case RunState::cancelled:
            return "cancelled";
    }
    return "unknown";  // the state's file may be damaged
}

const char* word(SiteState state) {
    switch (state) {
        case SiteState::unlisted:
            return "to be listed";
        case SiteState::moving:
            return "moving";
        case SiteState::tidying:
            return "directories and links";
        case SiteState::done:
            return "done";
        case SiteState::given_up:
            return "given up";
    }
    return "unknown";
}

Words words_of_step(const Job& job, const Site& site, const Entry& entry,
                    const Decision& decision) {
    const std::string item = itemised(decision, entry.standing.kind, job.direction);
    Words words;
    words.json.text("event", "plan")
        .text("destination", site.text)
        .text("path", entry.name)
        .text("change", word(decision.change))
        .text("item", item)
        .text("why", decision.why)
        .number("size", entry.standing.size);
    words.text = item + " " + printable(entry.name) +
                 (entry.standing.kind == Kind::directory ? "/" : "") + "  (" + decision.why + ")";
    return words;
}

Words words_of_plan(const Site& site, const SitePlan& plan, const Listing& source) {
    Tally tally;
    std::uint64_t others = 0;
    std::uint64_t created = 0;
    std::uint64_t replaced = 0;
    std::uint64_t refused = 0;
    for (const Step& step : plan.steps) {
        const Standing& standing = source.entries[step.entry].standing;
        created += step.decision.change == Change::create ? 1 : 0;
        replaced += step.decision.change == Change::replace ? 1 : 0;
        if (step.decision.change == Change::refuse) {
            ++refused;
        } else if (standing.kind == Kind::file && step.decision.change == Change::adjust) {
            continue;  // no byte moves
        } else if (standing.kind == Kind::file) {
            ++tally.files;
            tally.bytes += standing.size;
        } else {
            ++others;
        }
    }
    const std::uint64_t adjusted = plan.steps.size() - created - replaced - refused;
    Words words;
    words.json.text("event", "planned")
        .text("destination", site.text)
        .number("files", tally.files)
        .number("bytes", tally.bytes)
        .number("directories_and_links", others)
        .number("created", created)
        .number("replaced", replaced)
        .number("adjusted", adjusted)
        .number("refused", refused)
        .number("same_files", plan.same.files)
        .number("same_bytes", plan.same.bytes)
        .number("left_files", plan.left.files)
        .number("left_bytes", plan.left.bytes);
    std::string same = files(plan.same) + " as they should be";
    if (plan.left.files > 0) same += "; " + words_of_left(plan.left);
    if (plan.steps.empty()) {
        words.text = site.text + ": nothing to do; " + same;
        return words;
    }
    words.text = site.text + ": would move " + files(tally) + "; with " + std::to_string(others) +
                 (others == 1 ? " directory or link, " : " directories and links, ") +
                 std::to_string(created) + " would be created, " + std::to_string(replaced) +
                 " replaced, " + std::to_string(adjusted) + " get other attributes; " + same;
    if (refused > 0) words.text += "; " + std::to_string(refused) + " would be refused";
    return words;
}

std::string words_of_left(const Tally& left) {
    return files(left) + (left.files == 1 ? " is" : " are") +
           " left alone, as `which` or `conflict` says";
}

Words words_of_unreached(const Site& site, const Error& error) {
    Words words;
    words.json.text("event", "unreached")
        .text("destination", site.text)
        .text("code", to_string(error.fault))
        .text("message", error.message);
    words.text = site.text + ": nothing would move now: " + printable(error.message);
    return words;
}

void tell_skipped(const Listing& source, const std::function<void(const std::string&)>& say) {
    if (source.skipped == 0) return;
    const std::string more =
        source.skipped > 1 ? ", and " + std::to_string(source.skipped - 1) + " more" : "";
    say("skipped, being no file, directory or link: " + source.first_skipped + more);
}

void add_so_far(Run& run, const std::vector<SiteStatus>& sites) {
    for (const SiteStatus& site : sites) {
        run.moved.files += site.moved.files;
        run.moved.bytes += site.moved.bytes;
        run.failed += site.failed;
        run.given_up += site.state == SiteState::given_up ? 1 : 0;
    }
}

Words words_of_run(const Run& run, bool under_way) {
    Words words;
    const bool cut = run.state == RunState::running && !under_way;
    describe(words.json.text("event", "run"), run, cut ? "cut" : word(run.state))
        .number("files", run.moved.files)
        .number("bytes", run.moved.bytes)
        .number("failed", run.failed)
        .number("given_up", run.given_up);
    words.text = std::to_string(run.id) + "  " + at(run.started, false) + "  " +
                 (cut ? "cut" : word(run.state)) + "  moved " + files(run.moved);
    if (run.state != RunState::running) {
        // By a clock that may have been set back meanwhile.
        const Duration took = std::max(Duration{0}, Duration(run.ended - run.started));
        words.json.number("seconds", seconds(took));
        words.text += " in " + format_duration(took);
    }
    if (run.failed > 0)
        words.text +=
            ", " + std::to_string(run.failed) +
            (run.failed == 1 ? " file, directory or link" : " files, directories and links") +
            " not done";
    if (run.given_up > 0) words.text += ", " + given_up(run.given_up);
    if (cut) words.text += "; the next run goes on from there";
    return words;
}

Words words_of_site(const SiteStatus& status, const SiteSaid& said) {
    Words words;
    words.json.text("event", "destination").raw("status", json_of(status, said.run).line());
    const bool but = status.state == SiteState::done && status.failed > 0;
    const bool cut = said.run == SiteSaid::Run::cut && !settled(status.state);
    words.text = status.place + ": " + word_of(status.state, said.run) +
                 (cut ? ", goes on with the next run" : "") + (but ? " but for what failed" : "") +
                 "; moved " + files(status.moved) + (said.whole ? " in the whole run" : "") + "; " +
                 files(status.same) + " stood there already";
    if (status.waiting.files > 0) words.text += "; to move " + files(status.waiting);
    if (status.failed > 0) words.text += "; " + std::to_string(status.failed) + " failed";
    if (said.why && !status.trouble.empty()) words.text += "; " + status.trouble;
    return words;
}

std::string place_of(const Job& job, const Failure& failure) {
    const std::string site = failure.site < job.sites.size() ? job.sites[failure.site].text : "";
    return failure.name == "." ? site : site + ": " + failure.name;
}

Words words_of_failure(const Job& job, const Failure& failure) {
    const std::string place = failure.site < job.sites.size() ? job.sites[failure.site].text : "";
    Words words;
    words.json.text("event", "left_over")
        .text("destination", place)
        .text("path", failure.name)
        .text("side", to_string(failure.error.side))
        .text("code", to_string(failure.error.fault))
        .text("message", failure.error.message)
        .number("attempts", std::uint64_t{failure.attempts});
    words.text = "left over at " + place_of(job, failure) + ": " + failure.error.message + " (" +
                 std::to_string(failure.attempts) + (failure.attempts == 1 ? " try)" : " tries)");
    return words;
}

SiteSaid::Run how_it_goes(const JobStatus& status) {
    if (!status.run || status.run->state != RunState::running) return SiteSaid::Run::over;
    if (status.movers.empty()) return SiteSaid::Run::cut;
    return status.request == Request::pause ? SiteSaid::Run::paused : SiteSaid::Run::goes_on;
}

Words words_of_status(const Job& job, const JobStatus& status) {
    Words words;
    words.json.text("event", "status").text("job", job.name);
    const bool paused = status.request == Request::pause;
    const char* const json_paused = paused ? "true" : "false";
    if (!status.run) {
        words.json.text("state", "never run").raw("paused", json_paused);
        words.text = job.name + ": never run" + (paused ? ", paused" : "");
        return words;
    }
    const SiteSaid::Run goes = how_it_goes(status);
    const bool cut = goes == SiteSaid::Run::cut;
    describe(words.json, *status.run, cut ? "cut" : word(status.run->state))
        .raw("running", status.movers.empty() ? "false" : "true")
        .raw("paused", json_paused)
        .text("doing", doing(status.movers))
        .raw("movers", json_of_movers(status))
        .raw("destinations", json_of(status.sites, goes));
    Run so_far;
    add_so_far(so_far, status.sites);
    Tally waiting;
    for (const SiteStatus& site : status.sites) {
        waiting.files += site.waiting.files;
        waiting.bytes += site.waiting.bytes;
    }
    words.text = job.name + ": run " + std::to_string(status.run->id) + " of " +
                 at(status.run->started, false) + ": " +
                 (cut ? "cut; the next run goes on from there" : word(status.run->state));
    if (paused) words.text += ", paused";
    words.text += "; moved " + files(so_far.moved);
    if (waiting.files > 0) words.text += "; to move " + files(waiting);
    if (so_far.failed > 0) words.text += "; " + std::to_string(so_far.failed) + " failed";
    if (so_far.given_up > 0) words.text += "; " + given_up(so_far.given_up);
    if (status.movers.size() > 1)
        words.text += "; " + std::to_string(status.movers.size()) + " movers";
    // A mover that was told to go on says so with its next heartbeat.
    const std::string now = doing(status.movers);
    if (!now.empty() && now != "paused") words.text += "; under way: " + printable(now);
    return words;
}

namespace {

std::string whole_summary(const Job& job, const Run& run, const std::vector<SiteStatus>& sites) {
    // Where this mover alone has left, others go on.
    const bool over = run.state != RunState::running;
    JsonObject json;
    json.text("event", "replicated").text("job", job.name);
    describe(json, run, word(run.state))
        .number("files", run.moved.files)
        .number("bytes", run.moved.bytes)
        .number("failed", run.failed)
        .raw("destinations", json_of(sites, over ? SiteSaid::Run::over : SiteSaid::Run::goes_on));
    return json.line();
}

}  // namespace

std::string summary_of(const Job& job, const Run& run, std::vector<SiteStatus> sites,
                       std::size_t most) {
    std::string summary = whole_summary(job, run, sites);
    for (const std::size_t trouble : {300u, 0u}) {
        if (summary.size() <= most) return summary;
        for (SiteStatus& site : sites) site.trouble.resize(std::min(site.trouble.size(), trouble));
        summary = whole_summary(job, run, sites);
    }
    return summary.size() <= most ? summary : whole_summary(job, run, {});
}

std::string left_over_name(const Job& job, std::uint32_t root, const std::string& below) {
    if (root >= job.roots.size()) return below;
    const SourceRoot& from = job.roots[root];
    if (job.direction == session::Direction::put && !job.source) return from.path_of(below);
    const bool encoded = from.text.starts_with("lambda://");
    const SourceRoot as_given{.text = {}, .path = from.text, .name = from.name};
    if (!encoded) return as_given.path_of(below);
    if (from.name == ".") return as_given.path_of(below == "." ? below : percent_encoded(below));
    return from.text + percent_encoded(below.substr(from.name.size()));
}

}  // namespace lambda::client::replicate
