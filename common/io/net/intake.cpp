#include "common/io/net/intake.h"

#include <sys/mman.h>

#include <algorithm>

#include "common/io/file/root.h"
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

std::span<mmsghdr> Intake::clear(const ports::TextPlaces& places) {
    count_ = 0;
    const std::size_t messages = aim(places);
    for (std::size_t m = 0; m < messages; ++m) {
        msghdr& header = messages_[m].msg_hdr;
        header.msg_name = &senders_[m];
        header.msg_namelen = sizeof senders_[m];
        header.msg_iov = vectors_[m].data();
        header.msg_iovlen = scattered_ ? 3 : 1;
        header.msg_control = controls_[m].data();
        header.msg_controllen = kControlBytes;
    }
    return std::span(messages_).first(messages);
}

// How many messages may come.
std::size_t Intake::aim(const ports::TextPlaces& places) {
    scattered_ = !places.room.empty();
    ByteSpan room = places.room;
    std::size_t messages = 0;
    for (; messages < std::min(kBatch, places.most) && !(scattered_ && room.empty()); ++messages) {
        std::byte* const buffer = arena_ + messages * kBufferBytes;
        auto& [header, text, rest] = vectors_[messages];
        header = {buffer, kBufferBytes};
        if (!scattered_) continue;
        const ByteSpan own = room.first(std::min(places.each, room.size()));
        room = room.subspan(own.size());
        header.iov_len = ports::kHeaderBytes;
        text = {own.data(), own.size()};
        rest = {buffer + ports::kHeaderBytes, kBufferBytes - ports::kHeaderBytes};
    }
    return messages;
}

void Intake::cut(std::size_t index, std::size_t segment_bytes, Time arrived) {
    const std::size_t total = messages_[index].msg_len;
    const Address from = address_of(senders_[index]);
    std::byte* const buffer = arena_ + index * kBufferBytes;
    if (scattered_ && total > ports::kHeaderBytes) {
        const iovec& text = vectors_[index][1];
        const std::size_t apart = std::min(total - ports::kHeaderBytes, text.iov_len);
        ports::Arrival whole{{buffer, total - apart},
                             from,
                             arrived,
                             {static_cast<std::byte*>(text.iov_base), apart}};
        if (segment_bytes == 0) {
            arrivals_[count_++] = whole;
            return;
        }
        whole.gather();
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < kMostSegments && (at < total || i == 0); ++i) {
        const std::size_t left = total - at;
        const std::size_t bytes = segment_bytes == 0 ? left : std::min(segment_bytes, left);
        arrivals_[count_++] = {ByteSpan(buffer + at, bytes), from, arrived};
        at += bytes;
    }
}

}  // namespace lambda::io
