// A TUN device in the network namespace that the calling thread is in: what the host in there
// believes to be its network card. It goes when it is closed.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "common/base/cursor.h"
#include "common/base/result.h"
#include "common/io/file/root.h"

namespace lambda::lab {

constexpr const char* kDeviceName = "lab0";

// What the kernel may leave to the card, or the card hand to the kernel, in one piece.
enum class Offload { none, tcp, tcp_and_udp };

class Tun {
  public:
    // Segments are left together as far as `most` and the kernel allow (UDP's from Linux 6.2 on).
    static Result<Tun> make(Offload most);

    int fd() const { return fd_.get(); }
    Offload offload() const { return offload_; }

    // A VnetHeader and a packet, its length; 0: nothing there.
    std::size_t read(ByteSpan into);
    // False: the host did not take it.
    bool write(std::span<const iovec> parts);

  private:
    Tun(io::Descriptor fd, Offload offload) : fd_(std::move(fd)), offload_(offload) {}

    io::Descriptor fd_;
    Offload offload_;
};

}  // namespace lambda::lab
