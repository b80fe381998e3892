// The seam to the names of a sender: trees, walked in order and ahead of what is sent, never more
// of them in memory than a bound that the walker states. Engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ports/attributes.h"

namespace lambda::ports {

enum class Links : std::uint8_t {
    keep = 0,    // as links
    follow = 1,  // what they show, in their place
    skip = 2,    // not at all
};

struct WalkOptions {
    Links links = Links::keep;
    bool archive = false;        // owners and extended attributes are read too
    bool file_metadata = false;  // of files too, all that their directory tells
    // Whether an entry (its name for the receiver) is left out, with all below it. Empty: none is.
    // Called from the walker's thread.
    std::function<bool(const std::string& name, bool directory)> excluded{};
};

constexpr std::size_t kLongestName = 4096;  // bytes of a Found's name

// Where a walk begins.
struct WalkRoot {
    std::string path;
    std::string name;      // for the receiver: of what stands there; ".": its contents alone
    bool pattern = false;  // `path` may have wildcards (* ? [..], not across '/'); then `name` is
                           // of each what stands there
    // Of the path, as in SourceFile: less than all of it, and it is a file that a walk found
    // before.
    std::size_t named = std::string::npos;
};

// One entry. A directory comes before what it holds, its `leave` behind it; siblings come in the
// order of their bytes.
struct Found {
    enum class Kind {
        file,
        directory,
        leave,    // of the innermost directory; nothing else is set
        link,     // `text` is what it shows
        same,     // another name of an entry before, whose name is `text`
        skipped,  // `text` says why
        failed,   // `error`
    };
    Kind kind = Kind::file;
    std::string path{};  // where it is read
    std::string name{};  // for the receiver: relative, '/'-separated; ".": the target itself
    std::string text{};
    FileMetadata metadata{};    // directory, link: all of it; file, same: what it had then
    std::uint64_t further = 0;  // file, link: names beside it
    bool follow = true;         // file: a link at its end is followed
    std::size_t named = std::string::npos;  // file: as in SourceFile
    std::optional<std::uint64_t> id{};      // likewise
    Error error{};
};

class Walker {
  public:
    virtual ~Walker() = default;
    // Before the first add().
    virtual void set_options(WalkOptions options) = 0;
    // False: too many wait, try later.
    virtual bool add(WalkRoot root) = 0;
    virtual void no_more() = 0;
    // Up to `most` entries, in order, to the back of `out`. Wakes the engine when there are more.
    virtual void take(std::vector<Found>& out, std::size_t most) = 0;
    // no_more() was said, and everything was taken.
    virtual bool ended() const = 0;
    // How many entries were looked at so far, those that are left out too: it grows while the walk
    // gets on.
    virtual std::uint64_t looked() const = 0;
};

}  // namespace lambda::ports
