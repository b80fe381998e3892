// A path as a few flags, and a path in words.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "tools/lab/path.h"

namespace lambda::lab {

// What flags say of a path, both directions alike. Over a file's path they win.
struct PathFlags {
    using Text = std::optional<std::string>;
    Text rate{}, rtt{}, queue{}, loss{}, loss_burst{}, duplicate{}, reorder{}, reorder_by{},
        jitter{}, mtu{}, congestion{};
};
// Hosts `client` (left) and `server` (right), 1 Gbit/s, no delay. Its queues are for with_flags().
PathSpec plain_path();
// Errors (Fault::usage) read "--NAME: what is wrong".
Result<PathSpec> with_flags(PathSpec path, const PathFlags& flags);

// The path in words: what it will be when it begins.
std::string path_text(const PathSpec& path);

}  // namespace lambda::lab
