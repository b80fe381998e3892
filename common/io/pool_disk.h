// The disk engine where io_uring is forbidden: blocking reads and writes on a few threads.
#pragma once

#include <memory>
#include <vector>

#include "common/io/file_disk.h"

namespace lambda::io {

class PoolDisk final : public FileDisk {
  public:
    PoolDisk(const DiskOptions& options, Slots slots, Root root, Reactor& reactor);
    ~PoolDisk() override;
    const char* engine() const override { return "threads"; }

  protected:
    void start(std::uint32_t index) override;
    std::size_t hand_over() override;
    void reap() override;

  private:
    struct StepDone {
        std::uint32_t index = 0;
        long result = 0;
    };

    std::size_t started_ = 0;  // since the last hand_over()
    Completions<StepDone> steps_done_;
    std::vector<StepDone> steps_taken_;
    std::unique_ptr<Workers> workers_;
};

}  // namespace lambda::io
