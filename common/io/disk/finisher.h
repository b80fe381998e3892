// Makes durable what was made, and gives small files their names. Two threads, so that names are
// given while the disk is waited for: one flushes (flusher.h), and what it flushed the other names;
// the next flush covers these names too, and only then are they told as done. Bounds: kMostWaiting
// things in each of four places (waiting, being flushed, flushed, being named) and a sixth of the
// files that the process may open, for all finishers together, of which each is sure of a few; of
// what is named, with no more than its directory open, what came of two more such places while one
// flush lasts. So two thirds of the files are open at most.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/io/disk/flusher.h"
#include "common/io/disk/made.h"
#include "common/io/file/root.h"

namespace lambda::io {

class Finisher {
  public:
    static constexpr std::size_t kMostWaiting = 2048;
    static constexpr std::size_t kFewestWaiting = 32;
    // Worth a flush of its own, which commits the file system's journal and writes again what the
    // flushes before have written of its tables. Larger ones leave the disk idle at first, and at
    // last more to be named when nothing else is left to do.
    static constexpr std::size_t kBatch = 1024;
    // A batch is waited for until so long none has come: blocks of small files are some
    // milliseconds apart. And no longer than that: who sends has no room for more before some are
    // done.
    static constexpr Duration kPause = std::chrono::milliseconds(5);
    static constexpr Duration kLongestWait = std::chrono::milliseconds(100);

    // `root`: where all that is put lies; it outlives the finisher. Both on one of its threads.
    // `lost`: for want of memory some of what was put is not done, and never is told.
    using Done = std::function<void(const Made& made, std::optional<Error> error)>;
    using Lost = std::function<void()>;
    static Result<std::unique_ptr<Finisher>> make(const Root& root, Done done, Lost lost);
    ~Finisher();  // finishes what it has, then ends

    // Waits while too much waits already. One thread.
    void put(Made made);

  private:
    // What one flush covers: contents of `fresh`, names of `named`.
    struct Batch {
        std::vector<Made> fresh, named;
        bool empty() const { return fresh.empty() && named.empty(); }
    };
    Finisher(const Root& root, Done done, Lost lost);
    void flush_all();
    void name_all();
    Batch take();
    void gather(std::unique_lock<std::mutex>& lock);
    bool has_room() const;
    void finish(Batch batch);
    void name(std::vector<Made> flushed);
    void hand_over(std::vector<Made> flushed);
    std::optional<std::vector<Made>> take_flushed();
    void hand_back(std::vector<Made> named);
    void finish_whole(std::vector<Made>& fresh);
    void read_back_all(std::vector<Made>& flushed);
    void give_names(std::vector<Made>& flushed);
    void fail(Made& made, Error error);
    void fail_if(std::vector<Made>& made, const std::vector<int>& errors, const char* what);

    // Of all finishers: what has no name yet. Each holds a file open.
    static std::atomic<std::size_t> in_hand_;

    const Root& root_;
    const Done done_;
    const Lost lost_;
    const std::size_t most_in_hand_;
    Flusher flusher_;  // the flushing thread's

    std::mutex mutex_;
    std::condition_variable more_, room_;  // for who flushes; for who puts
    std::condition_variable flushed_more_, flushed_room_;
    std::vector<Made> waiting_;
    std::vector<Made> flushed_;
    std::vector<Made> named_;
    bool naming_ = false;       // something is flushed_, or taken from there
    std::uint64_t came_ = 0;    // ever
    bool stopping_ = false;     // nothing is put any more
    bool all_flushed_ = false;  // and nothing is left of that
    std::thread flusher_thread_, namer_thread_;
};

}  // namespace lambda::io
