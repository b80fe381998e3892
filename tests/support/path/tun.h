// A TUN device in a network namespace. It is gone when its descriptor is closed.
#pragma once

#include <string>

#include "tests/support/path/packet.h"

namespace lambda::path {

class Tun {
  public:
    // Throws std::runtime_error with what failed. `network` is a name below /run/netns; the calling
    // thread is back in its own namespace afterwards. The device is up, without addresses.
    Tun(const std::string& network, const std::string& device, int mtu);
    ~Tun();
    Tun(const Tun&) = delete;
    Tun& operator=(const Tun&) = delete;

    int descriptor() const { return descriptor_; }
    bool read(Packet& packet);         // false: nothing there now
    bool write(const Packet& packet);  // false: the kernel did not take it

  private:
    int descriptor_ = -1;
};

}  // namespace lambda::path
