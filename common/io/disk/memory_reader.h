// A thread that copies from files in memory for an owner whose own thread has too much to do. It
// works in what time others leave of a processor, so the owner takes back what it has not begun
// whenever it can (docs/decisions/0015). The owner's thread, but for what is said of `done`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/result.h"

namespace lambda::io {

class MemoryReader {
  public:
    struct Copy {
        std::uint32_t index = 0;  // the owner's
        std::uint32_t slot = 0;   // of `memory`
        int fd = -1;
        std::byte* memory = nullptr;
        std::size_t length = 0;
        std::uint64_t position = 0;

        long run() const;  // bytes, or -errno
    };
    // On the reader's thread, after each copy.
    using Done = std::function<void(std::uint32_t index, long result)>;

    // An error where the machine allows no further thread.
    static Result<std::unique_ptr<MemoryReader>> start(Done done);
    // Ends what it has begun; what waits is lost.
    ~MemoryReader();

    // As many may wait as the owner has.
    void post(const Copy& copy);
    // One that was not begun, of another slot than the reader fills just now, if there is one: so
    // most pieces of a slot end in their order.
    std::optional<Copy> take_back();

  private:
    static constexpr std::uint32_t kNone = ~0u;

    explicit MemoryReader(Done done) : done_(std::move(done)) {}
    void loop();
    std::optional<Copy> next(std::uint32_t avoided);

    const Done done_;
    std::atomic<std::size_t> count_ = 0;  // of those that wait

    std::mutex mutex_;  // all below
    std::condition_variable more_;
    std::deque<Copy> waiting_;
    std::uint32_t filling_ = kNone;  // the slot, by the reader
    std::uint32_t taken_ = kNone;    // by the owner
    bool stopping_ = false;

    std::thread thread_;
};

}  // namespace lambda::io
