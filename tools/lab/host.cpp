#include "tools/lab/host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

namespace lambda::lab {
namespace {

// Of packets or bursts of them, between a host's kernel and the lab: what comes in the few
// milliseconds for which the machine may not run the lab.
constexpr int kDeviceQueue = 4000;
// Autotuning's bounds: the kernel's own, or where the path is long, four times what it holds, since
// a window counts the overhead of packets and grows for one round trip before it is cut.
constexpr std::uint64_t kLeastTcpBuffer = 6 * MiB, kMostTcpBuffer = 1 * GiB;

Error refused(const std::string& what) {
    Error error = errno_error(Fault::unsupported, what, {}, errno);
    if (errno == EPERM) error.remedy = "the lab needs root";
    return error;
}

Result<io::Descriptor> present_network() {
    io::Descriptor fd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!fd) return refused("cannot open a network namespace");
    return fd;
}

// Enters a namespace and goes back at the end.
class Stay {
  public:
    static Result<Stay> in(int network) {
        auto home = present_network();
        if (!home) return home.error();
        if (::setns(network, CLONE_NEWNET) != 0) return refused("cannot enter a network namespace");
        return Stay(std::move(*home));
    }
    explicit Stay(io::Descriptor home) : home_(std::move(home)) {}
    Stay(Stay&&) = default;
    Stay& operator=(Stay&&) = delete;
    ~Stay() {
        // Who may not go back was not let out either.
        if (home_) LAMBDA_ASSERT(::setns(home_.get(), CLONE_NEWNET) == 0 || errno == EPERM);
    }

  private:
    io::Descriptor home_;
};

// `name` is below net.; /proc/sys shows each reader those of its own namespace.
Result<void> set_sysctl(const std::string& name, const std::string& value) {
    std::string path = "/proc/sys/net/" + name;
    std::replace(path.begin() + 14, path.end(), '.', '/');
    const io::Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
        return errno_error(Fault::unsupported, "cannot set net." + name + " to '" + value + "'", {},
                           errno);
    }
    return {};
}

std::string sysctl(const std::string& name) {
    std::ifstream file("/proc/sys/net/ipv4/" + name);
    std::string value;
    std::getline(file, value);
    return value;
}

// Nothing for pid 0, and for what is none of ours to see.
pid_t parent_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
    }
    return 0;
}

bool add_to_allowed(const std::string& name, int network) {
    const auto stay = Stay::in(network);
    const bool added = stay && set_sysctl("ipv4.tcp_allowed_congestion_control",
                                          sysctl("tcp_allowed_congestion_control") + " " + name)
                                   .ok();
    if (added) {
        std::fprintf(stderr,
                     "lambda-lab: %s is now in the machine's "
                     "net.ipv4.tcp_allowed_congestion_control\n",
                     name.c_str());
    }
    return added;
}

// A namespace may have only what the machine allows to everybody, and the kernel allows no more
// than its own default, reno and bbr. One name more there changes nothing for who does not ask; the
// setting is seen in the machine's first namespace alone: ours, or that of who started us; process
// 1 may not let us see its own.
bool allow_congestion(const std::string& name, int home) {
    if (add_to_allowed(name, home)) return true;
    for (pid_t process = ::getppid(); process > 0; process = parent_of(process)) {
        const std::string file = "/proc/" + std::to_string(process) + "/ns/net";
        const io::Descriptor network(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
        if (network && add_to_allowed(name, network.get())) return true;
    }
    return false;
}

Result<void> set_congestion(const std::string& name, int home) {
    const std::string setting = "ipv4.tcp_congestion_control";
    auto set = set_sysctl(setting, name);
    if (!set && allow_congestion(name, home)) set = set_sysctl(setting, name);
    if (set) return {};
    Error error = set.error();
    error.remedy = "this kernel has " + sysctl("tcp_available_congestion_control") +
                   "; others by modprobe, and net.ipv4.tcp_allowed_congestion_control of the "
                   "machine must name them";
    return error;
}

// An interface's settings by ioctl (netdevice(7)); stops at the first that fails.
class Interface {
  public:
    explicit Interface(const char* name) : name_(name), fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        good_ = static_cast<bool>(fd_);
    }
    void mtu(std::uint32_t bytes) {
        ifreq request = asked();
        request.ifr_mtu = static_cast<int>(bytes);
        call(SIOCSIFMTU, &request);
    }
    void queue(int packets) {
        ifreq request = asked();
        request.ifr_qlen = packets;
        call(SIOCSIFTXQLEN, &request);
    }
    void address(const std::string& text, const char* mask) {
        ifreq request = asked();
        set_address(request, text.c_str());
        call(SIOCSIFADDR, &request);
        set_address(request, mask);
        call(SIOCSIFNETMASK, &request);
    }
    void up() {
        ifreq request = asked();
        call(SIOCGIFFLAGS, &request);
        request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
        call(SIOCSIFFLAGS, &request);
    }
    void address6(const std::string& text, unsigned prefix) {
        ifreq request = asked();
        call(SIOCGIFINDEX, &request);
        in6_ifreq six{};
        ::inet_pton(AF_INET6, text.c_str(), &six.ifr6_addr);
        six.ifr6_prefixlen = prefix;
        six.ifr6_ifindex = request.ifr_ifindex;
        const io::Descriptor fd(::socket(AF_INET6, SOCK_DGRAM, 0));
        good_ = good_ && ::ioctl(fd.get(), SIOCSIFADDR, &six) == 0;
    }
    bool good() const { return good_; }

  private:
    ifreq asked() const {
        ifreq request{};
        std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name_);
        return request;
    }
    static void set_address(ifreq& request, const char* text) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, text, &address.sin_addr);
        std::memcpy(&request.ifr_addr, &address, sizeof address);
    }
    void call(unsigned long what, ifreq* request) {
        good_ = good_ && ::ioctl(fd_.get(), what, request) == 0;
    }

    const char* name_;
    io::Descriptor fd_;
    bool good_ = true;
};

// What all hosts of a path have in common.
struct Surroundings {
    int home = -1;  // the network that the lab was started in
    Offload offload = Offload::none;
    std::uint64_t tcp_buffer = 0;  // the most that autotuning may take
};

Result<void> settle(const HostSpec& spec, const Surroundings& around) {
    const std::string most = std::to_string(around.tcp_buffer);
    for (const auto& [name, value] : {std::pair{"ipv4.tcp_rmem", "4096 131072 " + most},
                                      std::pair{"ipv4.tcp_wmem", "4096 65536 " + most}}) {
        if (auto set = set_sysctl(name, value); !set) return set;
    }
    if (!spec.congestion.empty()) {
        if (auto set = set_congestion(spec.congestion, around.home); !set) return set;
    }
    for (const auto& [name, value] : spec.sysctls) {
        if (auto set = set_sysctl(name, value); !set) return set;
    }
    return {};
}

// The thread is in a new namespace, and stays there.
Result<Host> make_host(const HostSpec& spec, unsigned number, const Surroundings& around) {
    if (::unshare(CLONE_NEWNET) != 0) return refused("cannot make a network namespace");
    auto network = present_network();
    if (!network) return network.error();
    auto tun = Tun::make(around.offload);
    if (!tun) return tun.error();

    Interface loopback("lo");
    loopback.up();
    Interface card(kDeviceName);
    card.mtu(spec.mtu);
    card.queue(kDeviceQueue);
    Host host{.spec = spec,
              .address = host_address(spec.end, number),
              .address6 = {},
              .network = std::move(*network),
              .tun = std::move(*tun)};
    card.address(host.address, "255.255.0.0");
    // No address but ours, and nobody asks for routers.
    const std::string six = std::string("ipv6.conf.") + kDeviceName;
    const bool has_ipv6 = spec.mtu >= 1280 && set_sysctl(six + ".addr_gen_mode", "1").ok() &&
                          set_sysctl(six + ".router_solicitations", "0").ok();
    card.up();
    if (!loopback.good() || !card.good()) return refused("cannot configure a host's network");
    if (has_ipv6) {
        card.address6(host_address6(spec.end, number), 64);
        if (card.good()) host.address6 = host_address6(spec.end, number);
    }
    if (auto settled = settle(spec, around); !settled) return settled.error();
    return host;
}

}  // namespace

std::string host_address(End end, unsigned number) {
    return std::string("10.77.") + (end == End::left ? "1." : "2.") + std::to_string(number);
}

std::string host_address6(End end, unsigned number) {
    char text[32];
    std::snprintf(text, sizeof text, "fd77::%d:%x", end == End::left ? 1 : 2, number);
    return text;
}

Result<std::vector<Host>> make_hosts(const PathSpec& path, Offload offload) {
    const auto bytes = static_cast<std::uint64_t>(most_bytes_in_flight(path));
    auto home = present_network();
    if (!home) return home.error();
    const Surroundings around{.home = home->get(),
                              .offload = offload,
                              .tcp_buffer = std::clamp(4 * bytes, kLeastTcpBuffer, kMostTcpBuffer)};
    const Stay back(std::move(*home));
    std::vector<Host> hosts;
    unsigned left = 0, right = 0;
    for (const HostSpec& spec : path.hosts) {
        auto host = make_host(spec, spec.end == End::left ? ++left : ++right, around);
        if (!host) {
            Error error = host.error();
            error.message = "host " + spec.name + ": " + error.message;
            return error;
        }
        hosts.push_back(std::move(*host));
    }
    return hosts;
}

std::uint64_t unfetched_packets(const Host& host) {
    const auto stay = Stay::in(host.network.get());
    if (!stay) return 0;
    std::ifstream file("/proc/self/net/dev");
    std::string line;
    while (std::getline(file, line)) {
        const auto colon = line.find(':');
        if (colon == std::string::npos || line.find(kDeviceName) > colon) continue;
        unsigned long long dropped = 0;
        // Eight numbers of what was received; sent: bytes, packets, errors, dropped.
        if (std::sscanf(line.c_str() + colon + 1,
                        "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &dropped) == 1) {
            return dropped;
        }
    }
    return 0;
}

}  // namespace lambda::lab
