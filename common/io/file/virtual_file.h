// Names that stand for no file, for trials without a disk: "/.zero" and "/.zero/SIZE" give zeros
// (1 GiB, or as many as SIZE says: "4GiB"), "/.null" and whatever lies below it swallows all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/io/file/root.h"

namespace lambda::io {

struct VirtualFile {
    enum class Kind { zeros, null };
    Kind kind = Kind::null;
    std::uint64_t size = 0;  // of zeros
};

// Nothing where the root does not allow them or the name is an ordinary one.
std::optional<VirtualFile> virtual_file(const Root& root, std::string_view name);

}  // namespace lambda::io
