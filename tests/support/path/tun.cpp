#include "tests/support/path/tun.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lambda::path {
namespace {

constexpr std::size_t kMostPacket = 65'536;
// Packets: a burst of 64 KiB segments over 16 stripes at 1,200 bytes fits several times.
constexpr int kQueueLength = 8'192;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

int open_or_fail(const std::string& path, int flags) {
    const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
    if (descriptor < 0) fail(path);
    return descriptor;
}

// Puts this thread into a namespace for as long as it lives.
class Visit {
  public:
    explicit Visit(const std::string& network)
        : home_(open_or_fail("/proc/thread-self/ns/net", O_RDONLY)) {
        const int there = open_or_fail("/run/netns/" + network, O_RDONLY);
        if (setns(there, CLONE_NEWNET) != 0) fail("setns " + network);
        close(there);
    }
    ~Visit() {
        if (setns(home_, CLONE_NEWNET) != 0) abort();
        close(home_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

  private:
    int home_;
};

}  // namespace

Tun::Tun(const std::string& network, const std::string& device, int mtu) {
    const Visit visit(network);
    descriptor_ = open_or_fail("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(descriptor_, TUNSETIFF, &request) != 0) fail("TUNSETIFF " + device);
    const int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) fail("socket");
    request.ifr_mtu = mtu;
    if (ioctl(control, SIOCSIFMTU, &request) != 0) fail("SIOCSIFMTU");
    request.ifr_qlen = kQueueLength;
    if (ioctl(control, SIOCSIFTXQLEN, &request) != 0) fail("SIOCSIFTXQLEN");
    if (ioctl(control, SIOCGIFFLAGS, &request) != 0) fail("SIOCGIFFLAGS");
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    if (ioctl(control, SIOCSIFFLAGS, &request) != 0) fail("SIOCSIFFLAGS");
    close(control);
}

Tun::~Tun() {
    close(descriptor_);
}

bool Tun::read(Packet& packet) {
    packet.resize(kMostPacket);
    const ssize_t got = ::read(descriptor_, packet.data(), packet.size());
    packet.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return got > 0;
}

bool Tun::write(const Packet& packet) {
    return ::write(descriptor_, packet.data(), packet.size()) ==
           static_cast<ssize_t>(packet.size());
}

}  // namespace lambda::path
