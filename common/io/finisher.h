// Makes durable what was made, and gives small files their names: all of a batch share one
// barrier before the renames and one behind them, and the one behind is the one before of the next
// batch. A barrier is syncfs(2) where that is one and costs less, as measured, than a flush for
// each file and directory: it does for large batches, unless others write much to the file system.
// So where many come, more are waited for. A thread of its own. Bounds: kMostWaiting things that
// wait, and a third of the files that the process may open, for all finishers together, of which
// each is sure of a few.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/open_file.h"
#include "common/io/read_back.h"
#include "common/io/target_name.h"

namespace lambda::io {

struct Made {
    ports::DiskTag tag = 0;
    std::string path;  // for messages
    std::shared_ptr<const TargetDirectories::Directory>
        directory;          // that holds it; none: a file whose name stays as it is
    Descriptor opened;      // of the file, or of the directory that it is; none of a link
    dev_t device = 0;       // that it lies on: a directory may be a mount point
    std::string partial;    // a file's name until it gets `leaf`; empty: it has its name, or none
    bool nameless = false;  // a file that has no name until it gets `leaf`
    bool stays = false;     // a file or link that stood there as `leaf`, and is not opened
    std::string leaf;
    bool unowned = false;
    // A target that goes its own way: flushed and named by itself.
    std::shared_ptr<OpenFile> whole;
    ports::FileMetadata metadata;
    std::optional<Written> to_read_back;  // before it gets its name

    Made() = default;
    Made(Made&&) = default;
    Made& operator=(Made&&) = default;
    ~Made() { abandon(); }
    // Removes the partial file, if there is one.
    void abandon();
};

class Finisher {
  public:
    // A barrier costs much, and each file in it little: each commits the file system's journal, and
    // what the batches before have written of its tables is written again.
    static constexpr std::size_t kMostWaiting = 2048;
    static constexpr std::size_t kFewestWaiting = 32;
    // A batch is waited for until so long none has come: blocks of small files are some
    // milliseconds apart. And no longer than that: who sends has no room for more before some are
    // done.
    static constexpr Duration kPause = std::chrono::milliseconds(5);
    static constexpr Duration kLongestWait = std::chrono::milliseconds(100);

    using Done = std::function<void(const Made& made, std::optional<Error> error)>;
    // `done` runs on the finisher's thread.
    explicit Finisher(Done done);
    ~Finisher();  // finishes what it has, then ends

    // Waits while too much waits already. One thread.
    void put(Made made);

  private:
    void run();
    std::vector<Made> take(bool wait);
    void gather(std::unique_lock<std::mutex>& lock);
    bool has_room() const;
    void close_named();
    int barrier_of(dev_t device);
    void finish(std::vector<Made> fresh);
    bool shares(const std::vector<Made>& fresh);
    bool has_barrier(dev_t device, int file);
    void shared_barrier(std::vector<Made>& fresh);
    void flush_files(std::vector<Made>& fresh);
    void flush_directories();
    void read_back_all(std::vector<Made>& fresh);
    void give_names(std::vector<Made>& fresh);
    void finish_whole(std::vector<Made>& fresh);
    void fail_if(std::vector<Made>& made, const std::function<int(Made&)>& error_number,
                 const char* what);
    void tell_named();

    // Of all finishers: what waits, or has no name yet. Each holds a file open.
    static std::atomic<std::size_t> in_hand_;

    const Done done_;
    const std::size_t most_in_hand_;
    std::vector<Made> named_;         // not durable yet
    std::map<dev_t, bool> barriers_;  // of the file systems of one target: has_barrier()
    // What was measured, smoothed: a shared barrier, and one flush of many.
    double barrier_us_ = 0;
    double flush_us_ = 300;  // the order of things on a solid-state disk, until it is measured

    std::mutex mutex_;
    std::condition_variable more_, room_;
    std::vector<Made> waiting_;
    std::uint64_t came_ = 0;  // ever
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lambda::io
