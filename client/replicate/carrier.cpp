#include "client/replicate/carrier.h"

#include <sys/stat.h>

#include <unordered_map>
#include <unordered_set>

#include "client/command_line/arguments.h"
#include "client/replicate/between.h"
#include "client/replicate/load.h"
#include "client/replicate/overlap.h"
#include "client/replicate/place_here.h"
#include "client/replicate/plan.h"
#include "client/replicate/remote_tree.h"
#include "client/replicate/scan.h"
#include "client/report/report.h"
#include "client/transfer/attempt.h"
#include "client/transfer/destination.h"
#include "client/transfer/ranges.h"
#include "client/waiting.h"
#include "common/base/name_parts.h"

namespace lambda::client::replicate {
namespace {

class ClientCarrier final : public Carrier {
  public:
    ClientCarrier(const Job& job, const Access& access) : job_(job), access_(access) {
        access_.ca = job.settings.ca;
        access_.trust_new_host = job.settings.trust_new_host;
        if (access_.password_file.empty()) access_.password_file = job.password_file;
        access_.password_names.option = "password_file of the job";
        access_.may_ask = false;  // sessions stand side by side, and come again
    }

    Result<Listing> scan() const override {
        auto listing = !job_.source_server() ? scan_here(job_)
                       : job_.source         ? scan_there(job_, source_access(access_, job_))
                                             : scan_there(job_, access_);
        if (listing) drop_overlaps(*listing, job_.roots);
        return listing;
    }

    Result<Standings> look(const Load& load, const Listing& source) const override {
        const Site& site = job_.sites[load.site];
        if (putting()) return look_there(site, source);
        Standings found;
        found.reserve(source.entries.size());
        PlaceHere destination(site.path);
        for (const Entry& entry : source.entries) {
            if (interrupted()) return interruption_error();
            found.push_back(destination.stand(entry.name));
        }
        if (load.mark.listing == 0) return found;
        const auto left = leave_mark(site.path, load.mark);
        return left ? std::move(found) : Result<Standings>(left.error());
    }

    Result<Standings> check(const Load& load) const override {
        if (auto seen = see(load); !seen) return seen.error();
        const Site& site = job_.sites[load.site];
        if (putting()) {
            std::vector<std::string> paths;
            paths.reserve(load.tasks.size());
            for (const Task& task : load.tasks) paths.push_back(joined(site.path, task.name));
            auto tree = RemoteTree::open(site.server, access_);
            if (!tree) return tree.error();
            return tree->stand(paths);
        }
        Standings found;
        found.reserve(load.tasks.size());
        PlaceHere destination(site.path);
        for (const Task& task : load.tasks) found.push_back(destination.stand(task.name));
        return found;
    }

    Result<void> try_path(std::uint32_t site, const Entry& file) const override {
        if (!job_.source) return {};
        const Load load{
            .site = site,
            .tasks = {{.root = file.root, .name = file.name, .standing = file.standing}}};
        Arguments how = arguments(load);
        how.plan.whole = how.plan.dry_run = true;
        const auto tried = carry_between(job_, std::move(how), load, {});
        if (!tried) return tried.error();
        return tried->cut ? Result<void>(*tried->cut) : Result<void>();
    }

    Result<mover::Outcome> carry(const Load& load, const Progressed& progressed) const override {
        if (job_.source) return carry_between(job_, arguments(load), load, progressed);
        if (auto seen = see(load); !seen) return seen.error();
        if (load.tidy) return tidy(load, progressed);
        return is_part(load.tasks.front().piece) ? carry_piece(load, progressed)
                                                 : move_files(load, progressed);
    }

  private:
    bool putting() const { return job_.direction == session::Direction::put; }
    // Of the task's path here: what lies below a source, the scan found.
    std::size_t named(const Task& task) const {
        return job_.links == ports::Links::follow ? std::string::npos
                                                  : job_.roots[task.root].path.size();
    }
    Result<void> see(const Load& load) const {
        if (load.mark.listing == 0) return {};
        return see_mark(job_.sites[load.site].path, load.mark);
    }

    Result<Standings> look_there(const Site& site, const Listing& source) const {
        std::unordered_map<std::string_view, std::size_t> known;
        known.reserve(source.entries.size());
        for (std::size_t i = 0; i < source.entries.size(); ++i)
            known.emplace(source.entries[i].name, i);
        auto tree = RemoteTree::open(site.server, access_);
        if (!tree) return tree.error();
        const auto top = tree->stand({site.path + "/.", site.path});  // it may be a link
        if (!top) return top.error();
        Standings found(source.entries.size());
        if (top->back().unseen) return Standings(found.size(), top->back());
        if (!top->back().standing) return found;
        if (const auto itself = known.find("."); itself != known.end())
            found[itself->second] = top->front().standing ? top->front() : top->back();
        std::unordered_map<std::string, std::shared_ptr<const Error>> hidden;  // directories
        const auto walked = tree->walk(
            site.path, ".",
            [&](const std::string& below, const Standing& standing) {
                const auto entry = known.find(below);
                if (entry == known.end()) return false;
                found[entry->second] = standing;
                return source.entries[entry->second].standing.kind == Kind::directory;
            },
            [&](const std::string& below, const Error& error) {
                hidden[below] = std::make_shared<const Error>(error);
            });
        if (!walked) return walked.error();
        for (std::size_t i = 0; i < found.size() && !hidden.empty(); ++i) {
            const Entry& entry = source.entries[i];
            const auto holder = hidden.find(directory_of(entry.name));
            if (entry.name == "." || found[i].standing || holder == hidden.end()) continue;
            found[i] = holder->second;
            if (entry.standing.kind == Kind::directory) hidden[entry.name] = found[i].unseen;
        }
        return found;
    }

    Arguments arguments(const Load& load) const {
        Arguments arguments;
        arguments.settings = job_.settings;
        arguments.settings.rate_limit = load.rate;
        arguments.settings.rate_hours = {};  // the conductor keeps them
        arguments.beside = job_.lanes;
        arguments.password_file = access_.password_file;
        arguments.password_names = access_.password_names;
        arguments.may_ask = access_.may_ask;
        arguments.logins = access_.logins;
        const Access source = source_access(access_, job_);
        arguments.source_password_file = source.password_file;
        arguments.source_password_names = source.password_names;
        arguments.connect = job_.connect;
        arguments.certificate = access_.certificate;
        arguments.key = access_.key;
        arguments.quiet = true;
        arguments.walk.archive = job_.archive;
        // What is named moves in any case, but where all is offered.
        arguments.plan.whole = !load.tasks.empty() && load.tasks.front().piece == Piece::attributes;
        arguments.walk.links = job_.links;
        return arguments;
    }

    Plan plan_of(const Site& site) const {
        return {.direction = job_.direction,
                .server = site.server,
                .items = {},
                .several = true,
                .remote_target = putting() ? site.path : std::string(),
                .local_target = {.path = site.path, .into_directory = true}};
    }

    Result<mover::Outcome> move_files(const Load& load, const Progressed& progressed) const {
        const Site& site = job_.sites[load.site];
        Plan plan = plan_of(site);
        plan.names_all = true;  // batch_files bounds them
        const bool attributes = load.tasks.front().piece == Piece::attributes;
        const bool trees = job_.carries_trees() && !attributes;  // in which nothing is offered
        const std::string below = directory_of(load.tasks.front().name);
        Result<HeldDirectory> held{HeldDirectory{}};
        if (!trees && putting()) {
            plan.remote_target = joined(site.path, below);
        } else if (!trees) {
            held = PlaceHere(site.path).hold(below);
            if (!held) return held.error();
            plan.local_target.path = held->path;
        }
        TaskNames names;
        for (const Task& task : load.tasks) {
            const std::string path = job_.roots[task.root].path_of(task.name);
            const std::string name = trees ? task.name : base_name(task.name);
            names.emplace(name, task.name);
            names.emplace(path, task.name);
            plan.items.push_back(
                {.argument = path, .path = path, .name = name, .named = named(task)});
        }
        auto outcome = named_by(*held, run(plan, arguments(load), progressed));
        if (!outcome) return outcome;
        name_tasks(*outcome, names, trees ? Told::whole : Told::last_part);
        rest_is_done(*outcome, names);
        return outcome;
    }

    Result<mover::Outcome> carry_piece(const Load& load, const Progressed& progressed) const {
        const Site& site = job_.sites[load.site];
        const Task& task = load.tasks.front();
        const std::string source = job_.roots[task.root].path_of(task.name);
        Result<HeldDirectory> held{HeldDirectory{}};
        if (!putting()) held = PlaceHere(site.path).hold(directory_of(task.name));
        if (!held) return held.error();
        const std::string target =
            putting() ? joined(site.path, task.name) : joined(held->path, base_name(task.name));
        const StagedFile file{
            .direction = job_.direction,
            .server = site.server,
            .here = putting() ? source : target,
            .there = putting() ? target : source,
            .named = named(task),
            .stage = {.name = load.stage,
                      .source = {.size = task.standing.size, .mtime_ns = task.standing.mtime_ns}}};
        Report report({.json = false, .quiet = true, .progressed = progressed}, now());
        Result<mover::Outcome> outcome{mover::Outcome{}};
        if (task.piece == Piece::range) {
            outcome = carry_range(file, task.bytes, static_cast<std::uint64_t>(load.lease),
                                  arguments(load), report);
        } else if (const auto finished = finish_file(file, arguments(load), report); !finished) {
            outcome = finished.error();
        }
        outcome = named_by(*held, std::move(outcome));
        if (!outcome) return outcome;
        const bool done = !outcome->cut && outcome->failures.empty();
        const std::uint64_t files = done && task.piece == Piece::finish ? 1 : 0;
        outcome->files = files;
        outcome->verified = files;
        outcome->done.clear();
        if (done) outcome->done.push_back(task.name);
        for (mover::FileFailure& failure : outcome->failures) failure.name = task.name;
        return outcome;
    }

    // What it says of the directory, as the user knows that.
    static Result<mover::Outcome> named_by(const HeldDirectory& held,
                                           Result<mover::Outcome> outcome) {
        if (held.path.empty()) return outcome;
        if (!outcome) {
            Error error = outcome.error();
            held.name(error);
            return error;
        }
        if (outcome->cut) held.name(*outcome->cut);
        for (mover::FileFailure& failure : outcome->failures) held.name(failure.error);
        return outcome;
    }

    Result<mover::Outcome> tidy(const Load& load, const Progressed& progressed) const {
        mover::Outcome sum;
        // Apart, since both may hold a name, and each link is to be read from its own source; in
        // this order, since the attributes of the former's directories count (drop_overlaps).
        for (const bool contents : {false, true}) {
            if (sum.cut) break;
            if (auto tidied = tidy(load, contents, progressed, sum); !tidied) return tidied.error();
        }
        return sum;
    }

    // The sources that are contents, or those that have a name; adds to `sum`.
    Result<void> tidy(const Load& load, bool contents, const Progressed& progressed,
                      mover::Outcome& sum) const {
        std::size_t next = 0;
        do {
            const std::vector<std::string> links = some_links(
                load.tasks, next,
                [&](const Task& task) { return job_.roots[task.root].contents() == contents; });
            Plan plan = plan_of(job_.sites[load.site]);
            for (const SourceRoot& root : job_.roots) {
                if (root.contents() != contents) continue;
                if (putting() && !is_directory_here(root.path)) continue;
                plan.items.push_back({.argument = root.text, .path = root.path, .name = root.name});
            }
            if (plan.items.empty()) return {};
            Arguments how = arguments(load);
            how.walk.rules = rules_of_tidying(job_.rules, links);
            auto outcome = run(plan, how, progressed);
            if (!outcome) return outcome.error();
            add(sum, *std::move(outcome));
        } while (!sum.cut && next < load.tasks.size());
        return {};
    }

    static bool is_directory_here(const std::string& path) {
        struct stat status {};
        return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    }

    static Result<mover::Outcome> run(Plan& plan, const Arguments& arguments,
                                      const Progressed& progressed) {
        Report report({.json = false, .quiet = true, .progressed = progressed}, now());
        std::string token;
        return attempt(plan, arguments, token, report);
    }

    Job job_;
    Access access_;
};

}  // namespace

std::unique_ptr<Carrier> make_carrier(const Job& job, const Access& access) {
    return std::make_unique<ClientCarrier>(job, access);
}

}  // namespace lambda::client::replicate
