// The parts of a name that stand between its slashes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace lambda {

// The last one: "b" of "/a/b/"; empty for "/".
inline std::string base_name(const std::string& path) {
    const std::size_t end = path.find_last_not_of('/');
    if (end == std::string::npos) return {};
    const std::size_t slash = path.find_last_of('/', end);
    const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
    return path.substr(start, end + 1 - start);
}

// All before the last slash; empty where there is none.
inline std::string_view holder_of(std::string_view name) {
    const std::size_t slash = name.rfind('/');
    return slash == name.npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace lambda
