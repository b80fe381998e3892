// MLSD: a directory read in bounded pieces. Blocking: for a worker thread, one at a time.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <string>

#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/session/entry.h"

namespace lambda::server {

class Listing {
  public:
    // `root` need not outlive it. Error: also where what is in it may not be looked at at all.
    static Result<Listing> open(const io::Root& root, const std::string& name);

    // The next entries as lines of a reply (without its start and end), about `most` bytes; empty
    // at the end. "." and ".." are left out, and what vanishes meanwhile; what cannot be looked at
    // is listed as what the directory says that it is.
    Result<std::string> next(std::size_t most);

  private:
    struct Close {
        void operator()(DIR* directory) const { ::closedir(directory); }
    };
    Listing(DIR* directory, std::string name, bool read_only)
        : directory_(directory), name_(std::move(name)), read_only_(read_only) {}

    std::unique_ptr<DIR, Close> directory_;
    std::string name_;
    bool read_only_;
};

// Of `name` in `directory`, a link itself; an empty `name` is what `directory` was opened as.
// `status` is of it. A link's target is left out where no line has room for it.
struct Found {
    int directory;
    const char* name;
    struct stat status;
};
session::Entry entry_of(const Found& found, std::string shown_as, bool read_only);

}  // namespace lambda::server
