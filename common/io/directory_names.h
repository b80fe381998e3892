// The names in a directory, in the order of their bytes, in portions of bounded memory: where it
// holds more than one portion, it is read once for each. Blocking calls.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace lambda::io {

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
