// The disk engine where io_uring is forbidden: blocking reads and writes on a few threads.
#pragma once

#include <memory>

#include "common/io/disk/disk.h"
#include "common/io/disk/file_disk.h"
#include "common/io/reactor.h"

namespace lambda::io {

class PoolDisk final : public FileDisk {
  public:
    static Result<std::unique_ptr<ports::Disk>> make(const DiskOptions& options, Parts parts,
                                                     Reactor& reactor);
    ~PoolDisk() override;
    const char* engine() const override { return "threads"; }

  protected:
    void start(std::uint32_t index) override;
    std::size_t hand_over() override;
    void reap() override {}

  private:
    PoolDisk(const DiskOptions& options, Parts parts, std::unique_ptr<Workers> workers,
             Reactor& reactor);

    std::size_t started_ = 0;  // since the last hand_over()
    std::unique_ptr<Workers> workers_;
};

}  // namespace lambda::io
