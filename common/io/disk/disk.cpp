#include "common/io/disk/disk.h"

#include <atomic>

#include "common/io/disk/pool_disk.h"
#include "common/io/disk/uring_disk.h"
#include "common/io/log.h"

namespace lambda::io {

Result<std::unique_ptr<ports::Disk>> make_disk(const DiskOptions& options, Root root,
                                               Reactor& reactor) {
    auto parts = FileDisk::prepare(options, std::move(root), reactor);
    if (!parts) return parts.error();
    const std::string by_threads = "files are read and written by threads, without io_uring (";
    if (options.allow_uring) {
        auto disk = UringDisk::make(options, *parts, reactor);
        if (disk) return disk;
        static std::atomic<bool> said = false;
        if (!said.exchange(true)) log_warning(by_threads + disk.error().message + ")");
    } else {
        log_debug(by_threads + "it is switched off)");
    }
    return PoolDisk::make(options, *std::move(parts), reactor);
}

}  // namespace lambda::io
