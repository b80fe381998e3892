// Makes small files, directories and links below a root, many in flight: a thread that makes them
// in the order in which they are asked for, and a Finisher that makes them durable.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/cursor.h"
#include "common/io/disk/file_wait.h"
#include "common/io/disk/finisher.h"
#include "common/io/file/target_name.h"
#include "common/io/workers.h"
#include "common/ports/disk.h"

namespace lambda::io {

class Maker {
  public:
    // `done` and `lost` run on one of the maker's threads. The owner never has more than
    // `most_jobs` jobs that are not done. `lost`: for want of memory some never will be. `root`
    // must outlive it.
    using Done = std::function<void(ports::DiskEvent event)>;
    static Result<std::unique_ptr<Maker>> start(const Root& root, std::size_t most_jobs, Done done,
                                                std::function<void()> lost);

    // Engine thread. `content` must stay until it is done.
    void make(ports::DiskTag tag, ports::Making making, ByteView content);

  private:
    Maker(const Root& root, Done done, std::unique_ptr<Finisher> finisher,
          std::unique_ptr<Workers> thread);
    // What goes on to the finisher; nothing where all is done.
    using Outcome = Result<std::optional<Made>>;
    Outcome make_one(const ports::Making& making, ByteView content);
    Outcome make_file(const ports::Making& making, ByteView content);
    Outcome make_file_alone(const ports::Making& making, ByteView content);
    Result<void> enter_directory(const ports::Making& making);
    // Or finds it. Whether it was made.
    Result<bool> make_directory(const ports::Making& making);
    Outcome settle_directory(const ports::Making& making);
    Outcome make_link(const ports::Making& making);
    Outcome make_same(const ports::Making& making);
    Outcome name_link(const ports::TargetName& name, const TargetDirectories::Place& place,
                      const std::string& partial, bool unowned);

    const Root& root_;
    const Done done_;
    TargetDirectories directories_;  // the making thread's
    FileWait file_wait_;
    std::unique_ptr<Finisher> finisher_;
    std::unique_ptr<Workers> thread_;  // last: its jobs use what stands above
};

}  // namespace lambda::io
