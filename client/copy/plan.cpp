#include "client/copy/plan.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "client/command_line/usage.h"
#include "client/transfer/destination.h"

namespace lambda::client {
namespace {

Result<CopyPlan::End> end_of(const std::string& operand) {
    auto place = parse_place(operand);
    if (!place) return place.error();
    if (!place->server) {
        return usage(operand, "not a place at a server",
                     "copy goes from server to server; for files that lie here use put or get");
    }
    return CopyPlan::End{*place->server, operand, place->path};
}

}  // namespace

const char* to_string(Role role) {
    return role == Role::source ? "source" : "destination";
}

Result<CopyPlan> plan_copy(const std::vector<std::string>& operands, bool whole) {
    auto source = end_of(operands.at(0));
    if (!source) return source.error();
    auto destination = end_of(operands.at(1));
    if (!destination) return destination.error();
    if (whole && source->server == destination->server &&
        is_within(destination->path, source->path)) {
        return lies_within(operands.at(1));
    }
    const bool contents = name_of(source->path) == ".";
    return CopyPlan{*std::move(source), *std::move(destination), contents};
}

bool is_within(const std::string& path, const std::string& directory) {
    const auto plain = [](const std::string& name) {
        return (std::filesystem::path("/") / ("./" + name) / "").lexically_normal();
    };
    const std::filesystem::path inner = plain(path), outer = plain(directory);
    return std::mismatch(outer.begin(), std::prev(outer.end()), inner.begin(), inner.end()).first ==
           std::prev(outer.end());
}

Error lies_within(const std::string& destination) {
    return usage(destination, "it is what is copied, or lies within it",
                 "name a place outside, or leave this one out by --exclude");
}

}  // namespace lambda::client
