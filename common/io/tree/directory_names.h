// The names in a directory.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace lambda::io {

// Where a name in a directory is; "" and "." are where names begin.
std::string joined(const std::string& directory, const std::string& leaf);

// In the order of their bytes, each once, in portions of bounded memory: where a directory holds
// more than one portion, it is read once for each. It is read again, a few times, where it changes
// while more than one call reads it: a name that another file is renamed to may move then (tmpfs;
// btrfs since Linux 6.5) to where this reader never comes, and POSIX lets a name come twice. What
// was in it all the time is missed where it moved in each of them. Blocking calls.
class DirectoryNames {
  public:
    static constexpr std::size_t kPortionBytes = 16u
                                                 << 20;  // of names and what it takes to hold them

    // `directory` is open for reading; it stays the caller's. `path` is for messages.
    DirectoryNames(int directory, std::string path, std::size_t portion_bytes = kPortionBytes);

    // The next portion; empty at the end.
    Result<std::vector<std::string>> next();

  private:
    int directory_;
    std::string path_;
    std::size_t portion_bytes_;
    std::string last_;  // of the portion before
    bool ended_ = false;
};

}  // namespace lambda::io
