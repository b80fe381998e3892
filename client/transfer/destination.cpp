#include "client/transfer/destination.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "client/command_line/usage.h"
#include "client/remote/connection.h"
#include "common/base/name_parts.h"
#include "common/ports/walker.h"

namespace lambda::client {
namespace {

bool exists(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

bool is_directory(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<Place> remote_place(const std::string& text) {
    auto place = parse_place(text);
    if (place && !place->server) {
        return usage(text, "not a place at a server", "write lambda://HOST/PATH or HOST:PATH");
    }
    return place;
}

bool is_remote(const std::string& text) {
    if (exists(text)) return false;
    const auto place = parse_place(text);
    return place && place->server;
}

// A name that exists here is local whatever it looks like.
Result<std::string> local_path(const std::string& text) {
    if (exists(text)) return text;
    if (text == "-")
        return usage(text, "no stream is read or written here",
                     "write ./- for a file of that name");
    const auto place = parse_place(text);
    if (!place) return place.error();
    if (place->server) {
        return usage(text, "a place at a server, where a local one is meant",
                     "for a local name with a colon write ./ before it");
    }
    return text;
}

// What of `name` is below what lands as `top`; nothing where it is something else.
std::optional<std::string> within(const std::string& top, const std::string& name) {
    if (name == top) return std::string();
    if (!name.starts_with(top + "/")) return std::nullopt;
    return name.substr(top.size() + 1);
}

}  // namespace

std::string name_of(const std::string& path) {
    std::string name = base_name(path);
    const bool contents = name.empty() || path.back() == '/' || name == "." || name == "..";
    return contents ? "." : name;
}

std::string path_there(const Plan& plan, bool into_directory, const std::string& name) {
    if (plan.direction == session::Direction::put) {
        const bool one = plan.items.size() == 1 && plan.items.front().name != ".";
        const auto below = one && !into_directory ? within(plan.items.front().name, name)
                                                  : std::optional<std::string>(name);
        if (!below) return name;
        return path_at_server(below->empty() ? plan.remote_target
                                             : joined(plan.remote_target, *below));
    }
    if (name.starts_with('/')) return name;  // the server's own, of what a pattern met
    const Item* contents = nullptr;
    std::size_t of_contents = 0;
    bool patterns = false;
    for (const Item& item : plan.items) {
        if (path_at_server(name) == path_at_server(item.path)) return path_at_server(name);
        if (item.name == ".") {
            contents = &item;
            ++of_contents;
        } else if (item.pattern) {
            patterns = true;
            const std::string directory =
                item.path.substr(0, item.path.size() - base_name(item.path).size());
            const bool known = directory.find_first_of("*?[") == std::string::npos;
            if (known && plan.items.size() == 1) return path_at_server(directory + name);
        } else if (const auto below = within(item.name, name)) {
            const bool alone =
                std::none_of(plan.items.begin(), plan.items.end(), [&](const Item& other) {
                    return other.name == item.name && other.path != item.path;
                });
            if (!alone) return name;
            return path_at_server(below->empty() ? item.path : joined(item.path, *below));
        }
    }
    // Of several that land in one place nobody says from which it came.
    const bool known = of_contents == 1 && !patterns;
    return known ? path_at_server(joined(contents->path, name)) : name;
}

Result<Plan> plan_put(const std::vector<std::string>& operands, bool listed) {
    LAMBDA_ASSERT(!operands.empty());
    auto destination = remote_place(operands.back());
    if (!destination) return destination.error();
    Plan plan{.direction = session::Direction::put,
              .server = *destination->server,
              .items = {},
              .several = operands.size() > 2,
              .remote_target = destination->path,
              .local_target = {}};
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
        const auto path = listed ? operands[i] : local_path(operands[i]);
        if (!path) return path.error();
        plan.items.push_back({.argument = operands[i], .path = *path, .name = name_of(*path)});
        plan.several = plan.several || plan.items.back().name == ".";
    }
    return plan;
}

Result<Plan> plan_get(const std::vector<std::string>& operands) {
    LAMBDA_ASSERT(!operands.empty());
    const auto target = local_path(operands.back());
    if (!target) return target.error();
    Plan plan{.direction = session::Direction::get,
              .server = {},
              .items = {},
              .several = operands.size() > 2,
              .remote_target = {},
              .local_target = {}};
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
        auto source = remote_place(operands[i]);
        if (!source) return source.error();
        if (source->path.size() > ports::kLongestName)
            return usage(operands[i], "the name is too long", {});
        if (i == 0) plan.server = *source->server;
        if (!(plan.server == *source->server)) {
            return usage(operands[i], "one command gets from one server", "make it two commands");
        }
        plan.items.push_back({.argument = operands[i],
                              .path = source->path,
                              .name = name_of(source->path),
                              .pattern = source->path.find_first_of("*?[") != std::string::npos});
        plan.several = plan.several || plan.items.back().name == ".";
    }
    plan.local_target = {
        .path = *target,
        .into_directory = plan.several || target->ends_with('/') || is_directory(*target)};
    return plan;
}

bool between_servers(const std::vector<std::string>& operands) {
    return std::all_of(operands.begin(), operands.end(), is_remote);
}

Result<Plan> plan_sync(const std::vector<std::string>& operands) {
    LAMBDA_ASSERT(operands.size() == 1 || operands.size() == 2);
    const bool from_remote = is_remote(operands.front()) == (operands.size() == 2);
    auto plan = from_remote ? plan_get(operands) : plan_put(operands);
    if (!plan || plan->items.empty()) return plan;
    Item& item = plan->items.front();
    item.pattern = false;
    if (from_remote) {
        // Whether it is a directory, only the server knows.
        plan->asks_kind = item.name != ".";
        plan->local_target.into_directory =
            item.name == "." || operands[1].ends_with('/') || is_directory(operands[1]);
    } else if (is_directory(item.path)) {
        become_contents(*plan);
    }
    return plan;
}

void become_contents(Plan& plan) {
    for (Item& item : plan.items) item.name = std::string(".");
    plan.several = true;
    if (plan.direction == session::Direction::get) plan.local_target.into_directory = true;
}

}  // namespace lambda::client
