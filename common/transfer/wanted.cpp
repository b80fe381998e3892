#include "common/transfer/wanted.h"

#include <fnmatch.h>

#include <algorithm>

#include "common/base/name_parts.h"

namespace lambda::transfer {

Wanted::Wanted(const std::vector<WantRecord>& wants, const WalkRecord& walk)
    : links_(walk.links), archive_(walk.archive), filter_(walk.rules) {
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
    if (const auto* file = std::get_if<FileRecord>(&record))
        return covers(file->name) && walks(file->name, false);
    if (const auto* directory = std::get_if<DirectoryRecord>(&record))
        return covers(directory->name) && walks(directory->name, true);
    if (const auto* link = std::get_if<LinkRecord>(&record))
        return links_ == ports::Links::keep && covers(link->name) && walks(link->name, false);
    if (const auto* same = std::get_if<SameRecord>(&record))
        return covers(same->name) && covers(same->first) && walks(same->name, false);
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

// Whether the rules leave out neither it nor a directory that it lies in.
bool Wanted::walks(const std::string& name, bool directory) {
    if (name == ".") return true;
    const std::string_view around = holder_of(name);
    if (around != walked_ && !around.empty()) {
        for (std::size_t end = 0; end != around.size();) {
            end = name.find('/', end + 1);
            if (filter_.excludes(std::string_view(name).substr(0, end), true)) return false;
        }
        walked_ = around;
    }
    return !filter_.excludes(name, directory);
}

std::vector<std::string> Wanted::unheard() const {
    std::vector<std::string> names;
    for (const auto& [name, heard] : names_) {
        const bool left_out =
            name != "." && (filter_.excludes(name, false) || filter_.excludes(name, true));
        if (!heard && !left_out) names.push_back(name);
    }
    return names;
}

}  // namespace lambda::transfer
