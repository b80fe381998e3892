// The disk engine on io_uring: reads and writes from registered slots where RLIMIT_MEMLOCK allows.
#pragma once

#include <liburing.h>

#include <memory>
#include <vector>

#include "common/io/disk/disk.h"
#include "common/io/disk/file_disk.h"
#include "common/io/reactor.h"

namespace lambda::io {

class UringDisk final : public FileDisk {
  public:
    // An Error where the kernel has no io_uring or forbids it; `parts` are then as before.
    static Result<std::unique_ptr<ports::Disk>> make(const DiskOptions& options, Parts& parts,
                                                     Reactor& reactor);
    ~UringDisk() override;
    const char* engine() const override { return "io_uring"; }

  protected:
    void start(std::uint32_t index) override;
    std::size_t hand_over() override;
    void reap() override;

  private:
    UringDisk(const DiskOptions& options, Parts parts, Reactor& reactor, const io_uring& ring);
    bool registered(std::uint32_t slot);

    io_uring ring_;
    Reactor::Readiness readiness_;  // only so that completions wake the reactor
    std::vector<bool> registered_;  // by slot
    bool may_register_ = false;
};

}  // namespace lambda::io
