#include "client/replicate/between.h"

#include <map>
#include <optional>
#include <utility>

#include "client/copy/conduct.h"
#include "client/remote/place.h"
#include "client/replicate/load.h"
#include "client/replicate/plan.h"
#include "client/replicate/remote_tree.h"
#include "client/report/report.h"
#include "client/waiting.h"
#include "common/base/name_parts.h"
#include "common/dialling/retry.h"

namespace lambda::client::replicate {
namespace {

// With the side of the two servers that it is of.
Error told_of(const CopyError& error) {
    Error told = error.error;
    if (error.role) told.message = std::string(to_string(*error.role)) + ": " + told.message;
    return told;
}

CopyPlan::End end_of(const Server& server, const std::string& path) {
    return {.server = server, .argument = path, .path = path.empty() ? std::string("/") : path};
}

// How much of a directory's path a look below `top` found; nothing where `top` is a file in it.
std::optional<std::uint16_t> found_of(const std::string& top, const std::string& directory) {
    if (directory.size() < top.size()) return std::nullopt;
    const std::size_t first = directory.find_first_not_of('/', top.size());
    if (first == std::string::npos) return 0;
    const std::size_t last = directory.find_last_not_of('/');
    return static_cast<std::uint16_t>(last + 1 - first);
}

Result<mover::Outcome> copy_once(const CopyPlan& plan, const Arguments& arguments,
                                 const Progressed& progressed) {
    Report report({.json = false, .quiet = true, .progressed = progressed}, now());
    CopyConductor conductor(plan, arguments, report);
    const auto done = conductor.run();
    if (!done) {
        Error error = told_of(conductor.error());
        // Neither of the servers may dial the other, or can: no pause mends it, for no file.
        if (conductor.unreached() && error.fault == Fault::unsupported) {
            error.fault = Fault::session;
            error.side = Side::remote;
        }
        if (!conductor.agreed() || !dialling::may_pass(error)) return error;
        mover::Outcome outcome;  // a copy that stood, of which nobody told how it ended
        outcome.cut = std::move(error);
        return outcome;
    }
    mover::Outcome outcome = outcome_of(done->result);
    if (outcome.cut) outcome.cut = told_of({*outcome.cut, role_of(*outcome.cut, done->dialler)});
    for (mover::FileFailure& failure : outcome.failures)
        failure.error = told_of({failure.error, role_of(failure.error, done->dialler)});
    return outcome;
}

// Of a directory that could not be moved, beside others that were.
mover::Outcome outcome_without(const TaskNames& names, const Error& error) {
    mover::Outcome outcome;
    if (dialling::may_pass(error)) {
        outcome.cut = error;
    } else {
        for (const auto& [name, task] : names) outcome.add_failure(name, error);
    }
    return outcome;
}

Result<mover::Outcome> move_files(const Job& job, const Arguments& arguments, const Load& load,
                                  const Progressed& progressed) {
    const Site& site = job.sites[load.site];
    const Site* const relay = load.from ? &job.sites[*load.from] : nullptr;
    // Sources of several directories may land in one.
    std::map<std::pair<std::string, std::optional<std::uint16_t>>, TaskNames> directories;
    for (const Task& task : load.tasks) {
        const std::string& top = relay != nullptr ? relay->path : job.roots[task.root].path;
        const std::string path = relay != nullptr ? joined(relay->path, task.name)
                                                  : job.roots[task.root].path_of(task.name);
        const std::string name = base_name(path);
        const std::string directory = path.substr(0, path.size() - name.size());
        directories[{directory, found_of(top, directory)}].emplace(name, task.name);
    }
    const std::string target = joined(site.path, directory_of(load.tasks.front().name));
    mover::Outcome sum;
    for (const auto& [from, tasks] : directories) {
        CopyPlan plan{.source = end_of(relay != nullptr ? relay->server : *job.source, from.first),
                      .destination = end_of(site.server, target),
                      .found = from.second,
                      .one_password = relay != nullptr};
        for (const auto& [name, task] : tasks) plan.names.push_back(name);
        auto outcome = copy_once(plan, arguments, progressed);
        if (!outcome && from == directories.begin()->first) return outcome;
        if (!outcome) outcome = outcome_without(tasks, outcome.error());
        name_tasks(*outcome, tasks, Told::last_part);
        rest_is_done(*outcome, tasks);
        const bool cut = outcome->cut.has_value();
        add(sum, *std::move(outcome));
        if (cut) break;
    }
    return sum;
}

// From the sources themselves: a relay may have directories of its own. Those that have a name come
// first, since the attributes of their directories count (overlap.h).
Result<mover::Outcome> tidy(const Job& job, Arguments arguments, const Load& load,
                            const Progressed& progressed) {
    const Site& site = job.sites[load.site];
    mover::Outcome sum;
    for (const bool contents : {false, true}) {
        for (std::uint32_t number = 0; number < job.roots.size(); ++number) {
            const SourceRoot& root = job.roots[number];
            if (root.contents() != contents) continue;
            const CopyPlan plan{.source = end_of(*job.source, root.path),
                                .destination = end_of(site.server, site.path + "/"),
                                .contents = contents};
            std::size_t next = 0;
            do {
                arguments.walk.rules = rules_of_tidying(
                    job.rules, some_links(load.tasks, next,
                                          [&](const Task& task) { return task.root == number; }));
                auto outcome = copy_once(plan, arguments, progressed);
                if (!outcome) return outcome;
                add(sum, *std::move(outcome));
                if (sum.cut) return sum;
            } while (next < load.tasks.size());
        }
    }
    return sum;
}

}  // namespace

Access source_access(Access access, const Job& job) {
    access.password_file = job.source_password_file;
    access.password_names = {.option = "source_password_file of the job",
                             .variable = kSourcePassword.variable};
    return access;
}

Result<mover::Outcome> carry_between(const Job& job, Arguments arguments, const Load& load,
                                     const Progressed& progressed) {
    return load.tidy ? tidy(job, std::move(arguments), load, progressed)
                     : move_files(job, arguments, load, progressed);
}

}  // namespace lambda::client::replicate
