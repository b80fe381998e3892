// The two files of a stage, and the locks on them. Blocking calls: worker threads.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/io/file/root.h"
#include "common/io/stage/range_log.h"
#include "common/io/stage/stage.h"

namespace lambda::io {

// Errors: the account may only read; no such directory, where it is not to be made; and names that
// cannot be a stage.
Result<StagePlace> stage_place(const Root& root, const std::string& target, const Stage& stage,
                               bool make);

// Whether the final name is that of a regular file of this size and time: the stage was finished.
bool stands_finished(const StagePlace& at, const FileVersion& source);
// What has the final name may be replaced by a rename: a file, a link, or nothing.
Result<void> may_replace(const StagePlace& at);

// Opened for both, a plain file of one name; nothing where there is none and none is made.
Result<std::optional<Descriptor>> open_staged(const StagePlace& at, const std::string& name,
                                              bool make);

// F_OFD_SETLK for writing: bytes [first, last), to the end and beyond where `last` is kToTheEnd.
// False: another holds some of it.
Result<bool> take_lock(int fd, Range bytes, const std::string& path);
void unlock(int fd, Range bytes);

// The lock is waited for this long: a session that was cut lets go soon, and who comes back is
// fast.
constexpr auto kStagePause = std::chrono::milliseconds(20);
constexpr auto kStageWait = std::chrono::milliseconds(1000);
// Those who hold the log hold it for a flush of a few lines, one after the other.
constexpr auto kLogWait = std::chrono::milliseconds(10000);

// Fault::cut: another has the range, or the file.
Error range_busy(const std::string& path);
Error stage_error(const std::string& path, std::string message, std::string remedy = {});

// The log, read and locked: nobody else reads or writes it meanwhile. To be held for moments.
class StageLog {
  public:
    // Nothing where there is none and none is made.
    static Result<std::optional<StageLog>> open(const StagePlace& at, bool make);

    const RangeLog& said() const { return said_; }
    // Appends what begins with a new line, and flushes it.
    Result<void> append(const std::string& lines);
    // Everything that it said is forgotten.
    Result<void> clear();
    // The log is there and says nothing of a source: it was just made, or is garbled.
    bool fresh() const { return !said_.source().has_value(); }

  private:
    StageLog(const StagePlace& at, Descriptor file) : path_(at.path), file_(std::move(file)) {}
    Result<void> read();

    std::string path_;
    Descriptor file_;  // its lock goes with it
    std::uint64_t size_ = 0;
    bool torn_ = false;  // its last line has no end
    RangeLog said_;
};

}  // namespace lambda::io
