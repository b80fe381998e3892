#include "client/replicate/overlap.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "common/base/name_parts.h"

namespace lambda::client::replicate {
namespace {

std::string_view first_part(std::string_view name) {
    return name.substr(0, name.find('/'));
}

}  // namespace

void drop_overlaps(Listing& listing, const std::vector<SourceRoot>& roots) {
    // No two roots have one name (parse_job): only contents hold what is another's.
    std::set<std::string_view> names;
    for (const SourceRoot& root : roots) names.insert(root.name);
    if (names.size() < 2 || !names.contains(".")) return;
    names.erase(".");

    std::vector<Entry>& entries = listing.entries;
    std::unordered_map<std::string_view, std::size_t> first;
    std::set<std::pair<std::uint32_t, std::string_view>> gone;  // directories
    std::vector<bool> dropped(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        const bool directory = entry.standing.kind == Kind::directory;
        if (!names.contains(first_part(entry.name))) continue;
        if (gone.contains({entry.root, holder_of(entry.name)})) {  // said of what it lies in
            dropped[i] = true;
            if (directory) gone.emplace(entry.root, entry.name);
            continue;
        }
        const auto [at, fresh] = first.emplace(entry.name, i);
        if (fresh) continue;
        const Entry& other = entries[at->second];
        if (directory && other.standing.kind == Kind::directory) {
            dropped[roots[entry.root].contents() ? at->second : i] = true;
            continue;
        }
        dropped[i] = true;
        if (directory) gone.emplace(entry.root, entry.name);
        listing.miss({.root = entry.root,
                      .name = entry.name,
                      .error = {.fault = Fault::file,
                                .message = "would land where '" +
                                           roots[other.root].path_of(other.name) + "' does",
                                .path = roots[entry.root].path_of(entry.name),
                                .side = Side::local,
                                .remedy = "leave one of them out, or make it two jobs"}});
    }
    first.clear();
    gone.clear();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (dropped[i]) continue;
        if (kept != i) entries[kept] = std::move(entries[i]);
        ++kept;
    }
    entries.resize(kept);
}

}  // namespace lambda::client::replicate
