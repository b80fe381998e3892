#include "client/report/failures.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace lambda::client {
namespace {

// In "cannot open: Not a directory" what the system said: a directory and a file say differently
// what they could not do.
std::string_view cause_of(const Error& error) {
    const std::string_view message = error.message;
    const std::size_t colon = message.rfind(": ");
    return colon == message.npos ? message : message.substr(colon + 2);
}

// What is said of something that was reached: it is in the way of nothing below it, and has no
// cause above it.
bool reached(const Error& error) {
    constexpr std::string_view kSaid[] = {"cannot set", "cannot delete", "cannot remove",
                                          "cannot flush", "cannot read the extended"};
    return std::any_of(std::begin(kSaid), std::end(kSaid),
                       [&](std::string_view said) { return error.message.starts_with(said); });
}

}  // namespace

Error failure_of(Error error) {
    if (error.fault == Fault::cut) error.fault = Fault::file;
    return error;
}

Error passing(Error error) {
    if (error.fault == Fault::cut) error.remedy.clear();
    return error;
}

std::string sentence_at(const std::string& side, Error error) {
    const std::string path = std::exchange(error.path, {});
    return (path.empty() ? "the " + side + " server: " : path + " (on the " + side + " server): ") +
           error.sentence();
}

std::string FailureLine::for_those_below() const {
    if (below == 0) return {};
    return below == 1 ? " (and 1 entry below it)"
                      : " (and " + std::to_string(below) + " entries below it)";
}

std::vector<FailureLine> failure_lines(const std::vector<engine::FileFailure>& failures) {
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < failures.size(); ++i) places.emplace(failures[i].name, i);
    const auto fails_for = [&](std::string_view directory, const Error& error) {
        const auto place = places.find(directory);
        if (place == places.end()) return false;
        const Error& other = failures[place->second].error;
        return cause_of(other) == cause_of(error) && !reached(other) && !reached(error);
    };
    // The topmost directory above `name` that failed of the same cause; "." is above all others.
    const auto above = [&](std::string_view name, const Error& error) {
        if (name != "." && fails_for(".", error)) return places.find(".");
        for (std::size_t end = name.find('/', 1); end != name.npos; end = name.find('/', end + 1)) {
            if (fails_for(name.substr(0, end), error)) return places.find(name.substr(0, end));
        }
        return places.end();
    };
    std::vector<FailureLine> lines(failures.size());
    for (std::size_t i = 0; i < failures.size(); ++i) {
        lines[i].error = failure_of(failures[i].error);
        if (lines[i].error.path.empty()) lines[i].error.path = failures[i].name;
        const auto directory = above(failures[i].name, failures[i].error);
        if (directory == places.end()) continue;
        lines[i].below_another = true;
        ++lines[directory->second].below;
    }
    return lines;
}

}  // namespace lambda::client
