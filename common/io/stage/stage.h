// Files that several transfers put together from ranges (docs/ranges.md). Beside the final name lie
// the staging file ".lambda-HASH.parts", as long as the whole from the beginning, and its log
// ".lambda-HASH.ranges" (range_log.h); HASH: XXH3-128 of the stage's name, a NUL and the final one.
//
// Who writes a range holds a lock on exactly its bytes (F_OFD_SETLK), which ends with its process:
// none is ever written by two. The log is read and appended under a lock on it; it names a range
// done only after its bytes were flushed. The file gets its name only where the log covers it,
// under a lock on all of it.
//
// Errors: Fault::cut, it may pass: another holds the range, or the file. Fault::file: the rest.
// Blocking calls: worker threads. Several processes and threads at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/file_range.h"
#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/ports/disk.h"

namespace lambda::io {

struct OpenFile;

// Where a stage lies.
struct StagePlace {
    Root::Place place;       // of the final name
    std::string parts, log;  // names in its directory
    std::string path;        // as it was asked for, for messages
    bool set_id = false;     // gives_set_id()
};

// The right to write a range, as long as it lives.
class RangeClaim {
  public:
    // What is of the stage, however its names are spelt.
    const std::string& key() const { return key_; }
    Range bytes() const { return bytes_; }
    std::uint64_t fence() const { return fence_; }

    // The range as a target of its own, whose byte 0 is the first of the range. It shares the lock.
    Result<std::shared_ptr<OpenFile>> open(std::uint64_t size) const;
    // Flushed and written into the log: it is done. Refused where the metadata is of another source
    // than was claimed. False: its owner could not be set.
    Result<bool> commit(const ports::FileMetadata& metadata) const;
    // Writes all of a small range, then as commit(). `content`: what there is; the rest is hole.
    Result<bool> make(const ports::Making& making, ByteView content) const;

  private:
    friend struct Claiming;
    StagePlace at_;
    std::string key_;
    Stage stage_;
    Range bytes_;
    std::uint64_t fence_ = 0;
    Descriptor file_;  // locked
};

// `bytes` fit the stage (fits_stage()). Missing directories, the staging file and its log are made.
// `fence` must be above that of every claim of any of these bytes before, and 0 is; a range that is
// done is refused. Waits a second for who is about to let go.
Result<std::shared_ptr<RangeClaim>> claim_range(const Root& root, const std::string& target,
                                                const Stage& stage, Range bytes,
                                                std::uint64_t fence);
// The key that such a claim would have, where nothing but another's lock would refuse it. Missing
// directories are made.
Result<std::string> claim_key(const Root& root, const std::string& target, const Stage& stage,
                              Range bytes, std::uint64_t fence);

// What is done; all of it where a file of that size and time has the final name. Makes nothing.
Result<IntervalSet> staged_ranges(const Root& root, const std::string& target, const Stage& stage);
// Mode, time, flush, rename, flush of the directory. Nothing to do where the file stands already.
Result<void> finish_stage(const Root& root, const std::string& target, const Stage& stage);
// Removes staging file and log, if they are there. Makes nothing.
Result<void> discard_stage(const Root& root, const std::string& target, const Stage& stage);

}  // namespace lambda::io
