#include "client/remote/remote_pattern.h"

#include <fnmatch.h>

#include "client/remote/place.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

using session::Entry;
using session::EntryType;

Error failed(const std::string& pattern, std::string message, std::string remedy) {
    return Error{.fault = Fault::file,
                 .message = std::move(message),
                 .path = pattern.starts_with('/') ? pattern : "/" + pattern,
                 .side = Side::remote,
                 .remedy = std::move(remedy)};
}

// Takes the next component off; empty: there is none.
std::string next_component(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    const std::string component(rest.substr(0, rest.find('/')));
    rest.remove_prefix(component.size());
    return component;
}

// A link may lead to one.
bool may_be_directory(const Entry& entry) {
    return entry.type == EntryType::directory || entry.type == EntryType::link;
}

}  // namespace

Result<std::vector<Entry>> expand_pattern(const std::string& pattern, RemoteNames& names,
                                          const RemoteNames::Unread& unread, std::size_t most) {
    std::vector<std::string> places{pattern.starts_with('/') ? "/" : ""};
    std::vector<Entry> found;     // of `places`, where the last component had wildcards
    std::optional<Error> hidden;  // the last one: the reason where nothing is found
    bool known = false;
    std::string_view rest = pattern;
    for (std::string part = next_component(rest); !part.empty(); part = next_component(rest)) {
        known = transfer::has_wildcards(part);
        if (!known) {
            for (std::string& place : places) place = joined(place, part);
            continue;
        }
        const bool deeper = !rest.empty();  // "runs/*/" means directories, too
        bool too_many = false;
        found.clear();
        const auto take = [&](const std::string& directory, Entry entry) {
            if (::fnmatch(part.c_str(), entry.name.c_str(), FNM_PERIOD) != 0) return;
            if (deeper && !may_be_directory(entry)) return;
            too_many = too_many || found.size() == most;
            if (too_many) return;
            entry.name = joined(directory, entry.name);
            found.push_back(std::move(entry));
        };
        const auto listed = names.list(places, take, [&](const Error& error) {
            if (hidden) unread(*hidden);
            hidden = error;
        });
        if (!listed) return listed.error();
        if (too_many) {
            return failed(pattern, "more than " + std::to_string(most) + " names match the pattern",
                          "make it narrower, or list the directory");
        }
        places.clear();
        for (const Entry& entry : found) places.push_back(entry.name);
    }
    if (!known) {
        found.clear();
        auto looked = names.look(places);
        if (!looked) return looked.error();
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (!looked->at(i)) continue;
            looked->at(i)->name = places[i];
            found.push_back(*std::move(looked->at(i)));
        }
    }
    if (found.empty())
        return hidden ? *hidden : failed(pattern, "nothing there matches the pattern", {});
    if (hidden) unread(*hidden);
    return found;
}

}  // namespace lambda::client
