#include "common/transfer/wanted.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/transfer/filter.h"
#include "common/transfer/names.h"

namespace lambda::transfer {

Wanted::Wanted(const std::vector<WantRecord>& wants, bool archive) : archive_(archive) {
    for (const WantRecord& want : wants) {
        std::string name = base_name(want.name);
        if (want.contents || name.empty() || name == ".") {
            contents_ = true;
            names_.emplace(".", false);
        } else if (want.pattern) {
            patterns_.push_back(std::move(name));
        } else {
            names_.emplace(std::move(name), false);
        }
    }
}

bool Wanted::covers(const Record& record, bool at_top) {
    if (!archive_ && is_archive(record)) return false;
    if (const auto* file = std::get_if<FileRecord>(&record)) return covers(file->name);
    if (const auto* directory = std::get_if<DirectoryRecord>(&record))
        return covers(directory->name);
    if (const auto* link = std::get_if<LinkRecord>(&record)) return covers(link->name);
    if (const auto* same = std::get_if<SameRecord>(&record))
        return covers(same->name) && covers(same->first);
    if (const auto* offer = std::get_if<OfferRecord>(&record)) {
        const bool lands =
            offer->kind != OfferRecord::Kind::leave && offer->kind != OfferRecord::Kind::skipped;
        return !at_top || !lands || covers(offer->leaf);
    }
    // It lands nowhere, and may be called by its path.
    if (const auto* failed = std::get_if<FailRecord>(&record)) {
        covers(failed->name);
        if (contents_) covers(".");
    }
    return true;
}

bool Wanted::covers(std::string_view name) {
    const std::string top(name.substr(0, name.find('/')));
    if (const auto named = names_.find(top); named != names_.end()) return named->second = true;
    // A pattern as a sender's walk takes it; where something has it as its name, that is meant.
    return contents_ ||
           std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
               return pattern == top || ::fnmatch(pattern.c_str(), top.c_str(), FNM_PERIOD) == 0;
           });
}

std::vector<std::string> Wanted::unheard(const std::vector<Rule>& rules) const {
    const Filter filter(rules);
    std::vector<std::string> names;
    for (const auto& [name, heard] : names_) {
        const bool left_out =
            name != "." && (filter.excludes(name, false) || filter.excludes(name, true));
        if (!heard && !left_out) names.push_back(name);
    }
    return names;
}

}  // namespace lambda::transfer
