// The seam to what stands at a receiver's target: looked at in the order of a sender's walk, so
// that one directory at a time need be known, for each level. Engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/ports/attributes.h"
#include "common/ports/disk.h"
#include "common/ports/rights.h"

namespace lambda::ports {

// One step of the walk: at an entry, into a directory (an entry too), or out of the innermost.
struct Look {
    enum class Step : std::uint8_t { entry, enter, leave };
    Step step = Step::entry;
    TargetName target{};  // where it lands; `leave`: not looked at
    std::string name{};   // how the sender calls it
    bool archive = false;
    bool skipped = false;               // it stands at the source, and is not to be looked at
    std::optional<TargetName> first{};  // it is another name of this one: is it so there, too?
};

// What stands in an entry's place.
struct Standing {
    enum class Kind : std::uint8_t { nothing, file, directory, link, other };
    Kind kind = Kind::nothing;
    bool beneath = false;  // nothing, and can't be: what it would lie in stands and is no directory
    FileMetadata metadata{};
    bool fixed = false;         // the root of a jail: nothing but its time can be set
    std::string text{};         // what a link shows
    bool is_first = false;      // it is the file that `first` is
    std::uint64_t further = 0;  // names of a file beside it
    std::uint64_t file = 0;     // of one that has such: which it is; rarely, that of another, too
    bool stays = false;         // a directory in the way that holds what is not to go
    bool recent = false;        // it, or its name, may not be durable: it changed a moment ago
    // It could not be looked at, or what it lies in could not; the rest then means nothing, but for
    // the kind of a link that the user named, and that shows no directory which can be opened.
    std::optional<Error> error{};
};

// What stands at the target and was not met.
struct Extraneous {
    std::string name{};  // as the sender would call it
    bool directory = false;
    std::optional<Error> error{};  // of its removal
};

struct TargetEvent {
    enum class Kind : std::uint8_t { begun, looked, mended, extraneous };
    Kind kind = Kind::begun;
    bool holds = false;  // begun: something stands at the target
    std::vector<Standing>
        standings{};        // looked: one for each look but `leave` and skipped ones, in order
    std::uint64_t tag = 0;  // mended: of mend() or keep()
    // looked: what could not be looked into, and so stays; kMostUnread of them, of which the last
    // may stand for more.
    std::vector<Error> unread{};
    std::optional<Error> error{};    // mended; extraneous; looked: of what is so, some is not known
    bool unowned = false;            // mended, but for the owner
    std::vector<Extraneous> list{};  // extraneous: the next of them; empty at the end
};

class TargetTree {
  public:
    static constexpr std::size_t kMostListed = 256;  // of one `extraneous` event
    static constexpr std::size_t kMostUnread = 64;

    virtual ~TargetTree() = default;

    // Those of who sets what stands there.
    virtual const Rights& rights() const = 0;
    // Whether `path` is a directory with something in it.
    virtual void begin(const std::string& path) = 0;
    // From now on what stands in a directory that is entered, and is not met before it is left, is
    // extraneous, with all below it, but for what `kept` names: that stays, with the directories it
    // is in. Where `clears` is set, a directory that is met where an entry without one
    // (Look::entry) would land is in the way, with all below it. `kept` is called on any thread.
    using Kept = std::function<bool(const std::string& name, bool directory)>;
    virtual void seek_extraneous(Kept kept, bool clears) = 0;
    // In the order of the walk, which is that of the bytes of the names in a directory.
    virtual void look(std::vector<Look> looks) = 0;
    // Mode, times and what is archived, of a file that has this size, and was changed at `stood_ns`
    // last (its mtime); of one that was written to since it is an error, since that would have the
    // time of what it is no more. `mended` comes when they are durable.
    virtual void mend(std::uint64_t tag, TargetName target, FileMetadata metadata,
                      std::int64_t stood_ns) = 0;
    // A file or link stays as it stands: `mended` comes when it and its name are durable, whoever
    // made them; a transfer that was killed before it flushed them, perhaps.
    virtual void keep(std::uint64_t tag, TargetName target) = 0;
    // How many were found extraneous or in the way, by the looks that were answered.
    virtual std::uint64_t extraneous() const = 0;
    // The next of the one or the other, what a directory holds before itself; removed where
    // `remove` is set. The times of directories that stay are kept. At the end it is durable.
    virtual void next_extraneous(bool in_the_way, bool remove) = 0;

    // How many entries were looked at, gathered and removed so far: it grows while a call gets on.
    virtual std::uint64_t looked() const = 0;

    // What has ended since the last call, in the order of the calls; `mended` may come later.
    virtual std::vector<TargetEvent> poll() = 0;
};

}  // namespace lambda::ports
