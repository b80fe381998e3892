#include "tools/lab/tun.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace lambda::lab {
namespace {

// linux/if_tun.h of 6.2; Debian 12's is older.
constexpr unsigned kUso4 = 0x20, kUso6 = 0x40;

bool offers(int fd, unsigned features) {
    return ::ioctl(fd, TUNSETOFFLOAD, features) == 0;
}

Offload best_offload(int fd, Offload most) {
    constexpr unsigned kSegments = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
    if (most == Offload::tcp_and_udp && offers(fd, kSegments | kUso4 | kUso6)) {
        return Offload::tcp_and_udp;
    }
    if (most != Offload::none && offers(fd, kSegments)) return Offload::tcp;
    // Checksums alone: nothing on the way can spoil a bit.
    offers(fd, TUN_F_CSUM);
    return Offload::none;
}

}  // namespace

Result<Tun> Tun::make(Offload most) {
    io::Descriptor fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fd) {
        Error error =
            errno_error(Fault::unsupported, "cannot open the TUN device", "/dev/net/tun", errno);
        error.remedy = "the lab needs root and the kernel module tun";
        return error;
    }
    ifreq request{};
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", kDeviceName);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) {
        return errno_error(Fault::unsupported, "cannot make a TUN device", {}, errno);
    }
    const Offload offload = best_offload(fd.get(), most);
    return Tun(std::move(fd), offload);
}

std::size_t Tun::read(ByteSpan into) {
    const ssize_t got = ::read(fd_.get(), into.data(), into.size());
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool Tun::write(std::span<const iovec> parts) {
    return ::writev(fd_.get(), parts.data(), static_cast<int>(parts.size())) > 0;
}

}  // namespace lambda::lab
