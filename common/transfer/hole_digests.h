// The holes of files that have more of them than FileDigest takes by itself: their zeros are
// digested a bounded number a turn, so that a hole of any size keeps no engine's thread. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "common/transfer/digest.h"
#include "common/transfer/record.h"

namespace lambda::transfer {

class HoleDigests {
  public:
    // A file of `size` bytes, of which `data` are none of a hole. `digest` stays where it is until
    // forget().
    void add(FileNumber number, std::uint64_t size, std::uint64_t data, FileDigest& digest);
    void forget(FileNumber number) { files_.erase(number); }

    // One step; of which file, for whom it may have been the last.
    std::optional<FileNumber> turn();
    // The last turn() found something to do: there is more, perhaps.
    bool working() const { return working_; }

  private:
    std::map<FileNumber, FileDigest*> files_;
    bool working_ = false;
};

}  // namespace lambda::transfer
