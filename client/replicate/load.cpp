#include "client/replicate/load.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "common/base/name_parts.h"
#include "common/dialling/retry.h"

namespace lambda::client::replicate {
namespace {

// Of transfer::kMaxRules and kMaxRuleBytes.
constexpr std::size_t kLinksAtOnce = 1000;
constexpr std::size_t kLinkBytesAtOnce = 128 * KiB;

}  // namespace

std::string directory_of(const std::string& name) {
    const std::string_view holder = holder_of(name);
    return holder.empty() ? "." : std::string(holder);
}

std::vector<std::string> some_links(const std::vector<Task>& tasks, std::size_t& next,
                                    const std::function<bool(const Task&)>& wanted) {
    std::vector<std::string> links;
    std::size_t bytes = 0;
    for (; next < tasks.size() && links.size() < kLinksAtOnce && bytes < kLinkBytesAtOnce; ++next) {
        if (tasks[next].standing.kind != Kind::link || !wanted(tasks[next])) continue;
        links.push_back(tasks[next].name);
        bytes += links.back().size();
    }
    return links;
}

void name_tasks(mover::Outcome& outcome, const TaskNames& names, Told by) {
    const auto name = [&](std::string& told) {
        auto known = names.find(told);
        if (known == names.end() && by == Told::last_part) known = names.find(base_name(told));
        if (known != names.end()) told = known->second;
    };
    for (std::string& done : outcome.done) name(done);
    for (mover::FileFailure& failure : outcome.failures) name(failure.name);
    for (mover::Skipped& skipped : outcome.skips) name(skipped.name);
}

void rest_is_done(mover::Outcome& outcome, const TaskNames& names) {
    std::set<std::string> tasks, undone;
    for (const auto& [told, task] : names) tasks.insert(task);
    for (const mover::FileFailure& failure : outcome.failures) undone.insert(failure.name);
    for (const mover::Skipped& skipped : outcome.skips) undone.insert(skipped.name);
    const bool all_told = outcome.failed == outcome.failures.size() &&
                          outcome.skipped == outcome.skips.size() &&
                          std::includes(tasks.begin(), tasks.end(), undone.begin(), undone.end());
    // A file that became a directory since it was listed has moved with what is below it.
    if (outcome.cut || outcome.directories > 0 || !all_told) return;
    outcome.done.clear();
    std::set_difference(tasks.begin(), tasks.end(), undone.begin(), undone.end(),
                        std::back_inserter(outcome.done));
}

void add(mover::Outcome& sum, const mover::Outcome& next) {
    mover::Outcome both = next;
    both.links += sum.links;
    both.directories += sum.directories;
    both.skipped += sum.skipped;
    both.skips.insert(both.skips.begin(), sum.skips.begin(), sum.skips.end());
    if (both.skips.size() > mover::Outcome::kMaxFailures)
        both.skips.resize(mover::Outcome::kMaxFailures);
    const std::uint64_t kept = sum.bytes_kept + next.bytes_kept;
    const std::uint64_t adopted = sum.adopted + next.adopted;
    const std::uint64_t adopted_bytes = sum.adopted_bytes + next.adopted_bytes;
    dialling::add_try(sum, both);
    sum.bytes_kept = kept;
    sum.adopted = adopted;
    sum.adopted_bytes = adopted_bytes;
}

}  // namespace lambda::client::replicate
