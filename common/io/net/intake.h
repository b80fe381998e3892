// Where datagrams arrive: memory for one recvmmsg, and what it brought, cut into datagrams. All
// sockets of an engine share one, so that its 512 KiB stay in the processor's cache whichever of
// them is read. Engine thread. No allocation after it was made.
#pragma once

#include <sys/socket.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "common/base/result.h"
#include "common/ports/datagrams.h"

namespace lambda::io {

class Intake {
  public:
    static Result<std::unique_ptr<Intake>> make();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;
    ~Intake();

    // Ready for the next call of the kernel: what was there is gone.
    std::span<mmsghdr> clear(const ports::TextPlaces& places);
    mmsghdr& message(std::size_t index) { return messages_[index]; }
    // A message that was filled: datagrams of `segment_bytes`, the last as long as what is left; 0:
    // it is one. Of more than kMostSegments, which no kernel coalesces, the rest is lost.
    void cut(std::size_t index, std::size_t segment_bytes, Time arrived);
    std::span<ports::Arrival> arrivals() { return std::span(arrivals_).first(count_); }

  private:
    // One recvmsg takes up to 64 KiB of coalesced datagrams; this many of them go in one call, so
    // that what was received is still in the cache when it is opened.
    static constexpr std::size_t kBatch = 8;
    static constexpr std::size_t kBufferBytes = 65536;
    static constexpr std::size_t kControlBytes = 128;
    // UDP_GRO's 64, or those of one send that never was cut: UDP_MAX_SEGMENTS, 128 since Linux 6.9.
    static constexpr std::size_t kMostSegments = 128;

    std::size_t aim(const ports::TextPlaces& places);

    explicit Intake(std::byte* arena) : arena_(arena), arrivals_(kBatch * kMostSegments) {}

    std::byte* arena_;
    std::array<mmsghdr, kBatch> messages_{};
    // What belongs to a header, its text where that is wanted, and all that comes behind.
    std::array<std::array<iovec, 3>, kBatch> vectors_{};
    std::array<sockaddr_storage, kBatch> senders_{};
    alignas(cmsghdr) std::array<std::array<std::byte, kControlBytes>, kBatch> controls_{};
    std::vector<ports::Arrival> arrivals_;
    std::size_t count_ = 0;
    bool scattered_ = false;
};

}  // namespace lambda::io
