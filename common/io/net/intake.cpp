#include "common/io/net/intake.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/io/file/root.h"
#include "common/io/machine.h"
#include "common/io/net/socket_address.h"
#include "common/io/process.h"

namespace lambda::io {

Result<std::unique_ptr<Intake>> Intake::make() {
    void* arena = ::mmap(nullptr, kBatch * kBufferBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) return no_memory("cannot reserve memory for datagrams");
    return std::unique_ptr<Intake>(new Intake(static_cast<std::byte*>(arena)));
}

Intake::~Intake() {
    ::munmap(arena_, kBatch * kBufferBytes);
}

std::span<mmsghdr> Intake::clear() {
    count_ = 0;
    for (std::size_t m = 0; m < kBatch; ++m) {
        vectors_[m] = {arena_ + m * kBufferBytes, kBufferBytes};
        msghdr& header = messages_[m].msg_hdr;
        header.msg_name = &senders_[m];
        header.msg_namelen = sizeof senders_[m];
        header.msg_iov = &vectors_[m];
        header.msg_iovlen = 1;
        header.msg_control = controls_[m].data();
        header.msg_controllen = kControlBytes;
    }
    return messages_;
}

void Intake::cut(std::size_t index, std::size_t segment_bytes, Time arrived) {
    const std::size_t total = messages_[index].msg_len;
    const Address from = address_of(senders_[index]);
    std::size_t at = 0;
    for (std::size_t i = 0; i < kMostSegments && (at < total || i == 0); ++i) {
        const std::size_t left = total - at;
        const std::size_t bytes = segment_bytes == 0 ? left : std::min(segment_bytes, left);
        arrivals_[count_++] = {ByteSpan(arena_ + index * kBufferBytes + at, bytes), from, arrived};
        at += bytes;
    }
}

}  // namespace lambda::io
