// The seam to files that are read whole, to be compared and not moved: in the order of their bytes,
// beside what moves, a few at a time. Engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/cursor.h"
#include "common/base/interval_set.h"
#include "common/base/result.h"
#include "common/ports/disk.h"

namespace lambda::ports {

struct ContentRead {
    std::uint64_t tag = 0;
    std::optional<Error> error{};  // also: it changed while it was read
    std::uint64_t size = 0;
};

class ContentReader {
  public:
    virtual ~ContentReader() = default;

    // A regular file: a sender's, or what stands at a target. `take` gets pieces of `grain` bytes,
    // the last may be shorter, on another thread, one after the other. Of holes that fill such
    // pieces it gets any number of them at once, and no `content`.
    using Place = std::variant<SourceFile, TargetName>;
    using Take = std::function<void(Range bytes, ByteView content)>;
    virtual void read(std::uint64_t tag, Place place, std::size_t grain, Take take) = 0;

    // Whether it can be opened, and read from: the size says nothing then.
    virtual void try_open(std::uint64_t tag, Place place) = 0;

    // What has ended since the last call.
    virtual std::vector<ContentRead> poll() = 0;
};

}  // namespace lambda::ports
