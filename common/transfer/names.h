// How files are called at the two ends of a transfer. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ports/disk.h"
#include "common/ports/walker.h"

namespace lambda::transfer {

using SourceName = ports::WalkRoot;

// Where received entries land: in the directory `path` under their names, or, where one source
// becomes `path`, with that in place of the first component of each name. The name "." is `path`
// itself.
struct Target {
    std::string path;
    bool into_directory = false;

    ports::TargetName of(const std::string& name) const {
        if (name == ".") return {path, {}};
        if (into_directory) return {path, name};
        const std::size_t slash = name.find('/');
        return {path, slash == std::string::npos ? std::string() : name.substr(slash + 1)};
    }
};

// Of which of the files that are done the names are kept: `top`: of those in no directory, which a
// user has named.
enum class NamesKept : std::uint8_t { none, top, all };
inline bool keeps(NamesKept kept, const std::string& name) {
    return kept == NamesKept::all ||
           (kept == NamesKept::top && name.find('/') == std::string::npos);
}

// Whether a name may come from the peer: relative, no empty, "." or ".." component, no NUL,
// bounded.
bool acceptable_name(std::string_view name);

}  // namespace lambda::transfer
