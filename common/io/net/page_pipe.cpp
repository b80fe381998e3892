#include "common/io/net/page_pipe.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

#include "common/io/process.h"

namespace lambda::io {
namespace {

constexpr std::size_t kPage = 4096;
// A datagram refers to 17 pages (MAX_SKB_FRAGS), of which what goes before and behind takes one
// each; a pipe that nobody made larger to 16.
constexpr std::size_t kMostPages = 15;
// Below, three system calls more cost what the copy does.
constexpr std::size_t kLeast = std::size_t{32} << 10;

}  // namespace

bool PagePipe::takes(ByteView bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::size_t pages = (begin % kPage + bytes.size() + kPage - 1) / kPage;
    return bytes.size() >= kLeast && pages <= kMostPages;
}

int PagePipe::make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    out_ = Descriptor(ends[0]);
    in_ = Descriptor(ends[1]);
    if (!is_spare(ends[1])) return 0;
    empty();
    return EMFILE;
}

int PagePipe::load(ByteView bytes) {
    if (!in_) {
        if (const int error = make(); error != 0) return error;
    }
    const iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const ssize_t loaded = ::vmsplice(in_.get(), &vector, 1, SPLICE_F_NONBLOCK);
    const int error = loaded < 0 ? errno : EOPNOTSUPP;
    if (loaded == static_cast<ssize_t>(bytes.size())) {
        loaded_ = bytes.size();
        return 0;
    }
    empty();
    return error;
}

int PagePipe::append_to(int socket) {
    ssize_t moved = -1;
    do {
        moved = ::splice(out_.get(), nullptr, socket, nullptr, loaded_,
                         SPLICE_F_MORE | SPLICE_F_NONBLOCK);
    } while (moved < 0 && errno == EINTR);
    const int error = moved < 0 ? errno : EOPNOTSUPP;
    if (moved == static_cast<ssize_t>(loaded_)) {
        loaded_ = 0;
        return 0;
    }
    empty();
    return error;
}

void PagePipe::empty() {
    in_ = {};
    out_ = {};
    loaded_ = 0;
}

}  // namespace lambda::io
