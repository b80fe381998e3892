// What a pattern of a user's finds.
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>

#include "common/base/name_parts.h"
#include "common/io/tree/directory_names.h"
#include "common/io/tree/tree_walker.h"

namespace lambda::io {
namespace {

// What stands at a path is called by its last component, whatever slashes follow that.
std::string name_at(const std::string& path, const ports::WalkRoot& root) {
    std::string last = base_name(path);
    return root.name == "." || last.empty() ? "." : last;
}

}  // namespace

void TreeWalker::walk_pattern(const ports::WalkRoot& root) {
    if (root_.stat(root.path, false))
        return walk_root({.path = root.path, .name = name_at(root.path, root)}, true);
    if (expand(root.path.starts_with('/') ? "/" : "", root.path, root) > 0) return;
    fail(root.path, root.path,
         Error{.fault = Fault::file,
               .message = "nothing there matches the pattern",
               .path = root.path,
               .side = Side::local,
               .remedy = {}});
}

std::size_t TreeWalker::expand(const std::string& prefix, std::string_view rest,
                               const ports::WalkRoot& root) {
    if (depth_ == kDeepest) return fail_match(prefix, too_deep(prefix));
    rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
    if (rest.empty()) {
        walk_root({.path = prefix, .name = name_at(prefix, root)}, false);
        return 1;
    }
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string component(rest.substr(0, end));
    rest.remove_prefix(end);
    const auto deeper = [&](const std::string& path) {
        ++depth_;
        const std::size_t matched = expand(path, rest, root);
        --depth_;
        return matched;
    };
    if (component.find_first_of("*?[") == std::string::npos) {
        const std::string path = joined(prefix, component);
        const auto status = root_.stat(path, true);
        if (status) return deeper(path);
        return root_.absent(path) ? 0 : fail_match(path, status.error());
    }
    const auto directory = root_.open(prefix.empty() ? "." : prefix, O_RDONLY | O_DIRECTORY);
    if (!directory) return may_be_directory(prefix) ? fail_match(prefix, directory.error()) : 0;
    std::size_t matched = 0;
    DirectoryNames names(directory->get(), prefix);
    while (true) {
        const auto portion = names.next();
        if (!portion) return matched + fail_match(prefix, portion.error());
        if (portion->empty()) return matched;
        for (const std::string& leaf : *portion) {
            if (stopping()) return matched;
            if (::fnmatch(component.c_str(), leaf.c_str(), FNM_PERIOD) != 0) continue;
            const std::string path = joined(prefix, leaf);
            const bool goes_on = !rest.empty();  // "runs/*/" means directories, too
            if (goes_on && !may_be_directory(path)) continue;
            matched += deeper(path);
        }
    }
}

// What nobody may look at may be one.
bool TreeWalker::may_be_directory(const std::string& path) const {
    const auto status = root_.stat(path.empty() ? "." : path, true);
    return status ? S_ISDIR(status->st_mode) : !root_.absent(path);
}

// Of a pattern only the whole path tells where it was.
std::size_t TreeWalker::fail_match(const std::string& path, Error error) {
    fail(path, path.starts_with('/') ? path : "/" + path, std::move(error));
    return 1;
}

}  // namespace lambda::io
