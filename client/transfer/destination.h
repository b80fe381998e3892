// What a put or get moves, and where it lands: with several sources, into an existing directory, or
// into a name that ends in '/', each source lands as DESTINATION/basename; else the one source
// becomes DESTINATION. For a put the server applies the rule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/remote/place.h"
#include "common/base/file_range.h"
#include "common/base/result.h"
#include "common/mover/mover.h"
#include "common/session/terms.h"

namespace lambda::client {

class Landing;

struct Item {
    std::string argument;  // as the user gave it
    std::string path;      // where it is read: here (put) or at the server (get)
    std::string name;      // what it is called where it lands; ".": its contents land there
    bool pattern = false;  // get: the path has wildcards, unless a file of that name stands there
    std::size_t named = std::string::npos;  // of the path, as in ports::SourceFile
    std::string top{};  // what `name` was in the first try, whose target the tree became
};

// What is moved of the one source, in place of all of it.
struct PlannedRange {
    FileRange range;
    std::string stage;        // where it waits for others; empty: it becomes a file by itself
    std::uint64_t fence = 0;  // of its claim there
};

struct Plan {
    session::Direction direction = session::Direction::put;
    Server server;
    std::vector<Item> items;
    bool several = false;
    std::string remote_target;   // put: what XFER names
    mover::Target local_target;  // get
    std::optional<PlannedRange> range{};
    bool asks_kind = false;              // get: whether the source is a directory must be known
    bool goes_on = false;                // get: one that is, is what the target was made of
    std::shared_ptr<Landing> landing{};  // where what became of it is kept
    std::vector<std::string> done{};     // by earlier tries, for the receipt to tell of them, too
    bool names_all = false;              // Outcome::done has also what lies in directories
    bool trial = false;  // /.zero and /.null stand here too, and what stripes carry is kept
};

// Whether both operands of a sync are places at servers.
bool between_servers(const std::vector<std::string>& operands);
// A sync: `operands` are one source and the destination, one of them at a server. A directory means
// its contents, whether or not a '/' ends it; of a remote source the server must be asked. Without
// a source, the plan of its destination alone has no items.
Result<Plan> plan_sync(const std::vector<std::string>& operands);
// The one source is a directory.
void become_contents(Plan& plan);

// `operands`: sources, maybe none, then the destination. Errors are Fault::usage: a place on the
// wrong side, two servers in one command, two sources that would land under one name. A get looks
// whether DESTINATION is a directory here. `listed`: by a file, whose names are of this side
// whatever they look like: one that is gone since fails alone.
Result<Plan> plan_put(const std::vector<std::string>& operands, bool listed = false);
Result<Plan> plan_get(const std::vector<std::string>& operands);

// What a source lands as; ".": it is "SOURCE/", which is what it holds.
std::string name_of(const std::string& path);

// Where at the server it lies what an outcome of the plan calls `name`, as errors write it. Of a
// get an item's pattern may have found it in any directory, and of several directories' contents it
// may be any one's: then the name stays. `into_directory`: how the server understood the target of
// a put.
std::string path_there(const Plan& plan, bool into_directory, const std::string& name);

}  // namespace lambda::client
