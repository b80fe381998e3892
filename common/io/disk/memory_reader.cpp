#include "common/io/disk/memory_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/io/process.h"

namespace lambda::io {

long MemoryReader::Copy::run() const {
    const ssize_t got = ::pread(fd, memory, length, static_cast<off_t>(position));
    return got < 0 ? -errno : got;
}

Result<std::unique_ptr<MemoryReader>> MemoryReader::start(Done done) {
    std::unique_ptr<MemoryReader> reader(new MemoryReader(std::move(done)));
    auto thread = start_thread([raw = reader.get()] { raw->loop(); });
    if (!thread) return thread.error();
    reader->thread_ = *std::move(thread);
    return reader;
}

MemoryReader::~MemoryReader() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void MemoryReader::post(const Copy& copy) {
    bool asleep = false;
    {
        const std::lock_guard lock(mutex_);
        asleep = waiting_.empty() && filling_ == kNone;
        waiting_.push_back(copy);
        count_ = waiting_.size();
    }
    if (asleep) more_.notify_one();
}

std::optional<MemoryReader::Copy> MemoryReader::take_back() {
    if (count_ == 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto copy = next(filling_);
    taken_ = copy ? copy->slot : kNone;
    return copy;
}

std::optional<MemoryReader::Copy> MemoryReader::next(std::uint32_t avoided) {
    if (waiting_.empty()) return std::nullopt;
    auto at = std::find_if(waiting_.begin(), waiting_.end(),
                           [&](const Copy& each) { return each.slot != avoided; });
    if (at == waiting_.end()) at = waiting_.begin();
    const Copy copy = *at;
    waiting_.erase(at);
    count_ = waiting_.size();
    return copy;
}

void MemoryReader::loop() {
    stand_back();
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        const Copy copy = *next(taken_);
        filling_ = copy.slot;
        lock.unlock();
        done_(copy.index, copy.run());
        lock.lock();
        filling_ = kNone;
    }
}

}  // namespace lambda::io
