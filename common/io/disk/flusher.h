// Makes durable what was made, many at a time: the contents of files that have no name yet, and
// names given since. One barrier for both is syncfs(2) where that is one (shared_barrier.h) and
// costs less, as measured, than a flush for each file and directory: it does for large batches,
// unless others write much to the file system. Blocking calls, one thread.
#pragma once

#include <map>
#include <vector>

#include "common/base/time.h"
#include "common/io/disk/made.h"

namespace lambda::io {

class Flusher {
  public:
    // Fewer are flushed one by one: a whole file system's barrier costs what others wrote, too.
    static constexpr std::size_t kFewestShared = 8;

    // errno or 0 for each, in their order.
    struct Outcome {
        std::vector<int> fresh, named;
    };
    Outcome flush(const std::vector<Made>& fresh, const std::vector<Made>& named);

  private:
    bool shares(const std::vector<Made>& fresh, const std::vector<Made>& named);
    bool has_barrier(dev_t device, int file);
    int barrier_of(const std::vector<Made>& named, dev_t device);
    Outcome flush_together(const std::vector<Made>& fresh, const std::vector<Made>& named);
    Outcome flush_each(const std::vector<Made>& fresh, const std::vector<Made>& named);
    int flush_directory(const Made& within, const std::vector<Made>& named);

    std::map<dev_t, bool> barriers_;  // of the file systems of one target: has_barrier()
    // What was measured, smoothed: a shared barrier, and one flush of many.
    double barrier_us_ = 0;
    double flush_us_ = 300;  // the order of things on a solid-state disk, until it is measured
};

}  // namespace lambda::io
