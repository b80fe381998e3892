#include "client/replicate/load.h"

#include <iterator>

namespace lambda::client::replicate {
namespace {

// Of transfer::kMaxRules and kMaxRuleBytes.
constexpr std::size_t kLinksAtOnce = 1000;
constexpr std::size_t kLinkBytesAtOnce = 128 * KiB;

}  // namespace

std::string directory_of(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return slash == name.npos ? "." : name.substr(0, slash);
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

void add(mover::Outcome& sum, mover::Outcome next) {
    const auto join = [](auto& into, auto& from) {
        into.insert(into.end(), std::make_move_iterator(from.begin()),
                    std::make_move_iterator(from.end()));
    };
    join(next.done, sum.done);
    join(next.failures, sum.failures);
    next.failed += sum.failed;
    next.bytes += sum.bytes;
    sum = std::move(next);
}

}  // namespace lambda::client::replicate
