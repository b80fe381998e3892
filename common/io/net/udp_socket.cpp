#include "common/io/net/udp_socket.h"

#include <netinet/udp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "common/io/log.h"
#include "common/io/net/sockets.h"

namespace lambda::io {
namespace {

using ports::SendOutcome;

// The kernel's UDP_MAX_SEGMENTS before 6.9; later ones allow 128.
constexpr std::size_t kMaxSegments = 64;
constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kLargestIpv4 = 65535 - kIpv4Header - kUdpHeader;
// What the port's contract allows in one burst; the same as IPv4's largest datagram.
constexpr std::size_t kLargestBurst = 65507;
// Where the interface does not tell: every IPv6 link carries it (RFC 8200 §5), IPv4 in practice.
constexpr std::size_t kSafeMtu = 1280;
// Pending ICMP errors that one receive() steps over.
constexpr int kMostErrors = 16;

bool set_option(int fd, int level, int name, int value) {
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

int get_option(int fd, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    return ::getsockopt(fd, level, name, &value, &length) == 0 ? value : 0;
}

// Don't fragment, and ask the interface alone: the path's size is found by probes (RFC 8899), not
// by what ICMP says.
void set_discovery(int fd, int family) {
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

Time time_of(const timespec& stamp) {
    return Time(std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec));
}

Time time_of(clockid_t clock) {
    timespec stamp{};
    ::clock_gettime(clock, &stamp);
    return time_of(stamp);
}

std::string port_name(const Address& address) {
    return "UDP port " + std::to_string(address.port);
}

// What tells the kernel where to cut a burst.
struct SegmentSize {
    void attach_to(msghdr& message, std::size_t segment_bytes) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = IPPROTO_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto size = static_cast<std::uint16_t>(segment_bytes);
        std::memcpy(CMSG_DATA(header), &size, sizeof size);
    }
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
};

void say_once(std::atomic<bool>& said, std::string_view text) {
    if (!said.exchange(true)) log_info(text);
}

void say_unsegmented() {
    static std::atomic<bool> said = false;
    say_once(said, "this kernel or interface does not segment UDP: packets go one by one");
}

void say_unlent() {
    static std::atomic<bool> said = false;
    say_once(said, "this kernel or interface does not send pages: texts in clear are copied");
}

constexpr long kPage = 4096;

// What a packet that several calls put together is answered where one call would do.
bool refuses_way(int error) {
    return error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP;
}

// An error that says nothing of the next packet.
bool may_pass(int error) {
    return error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE;
}

}  // namespace

Result<std::unique_ptr<UdpSocket>> UdpSocket::make(const UdpOptions& options, Reactor& reactor,
                                                   SocketBuffers* buffers) {
    const int family =
        is_ipv4(options.bind_to.ip) || is_ipv4(options.connect_to.ip) ? AF_INET : AF_INET6;
    Descriptor fd(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
        const Fault fault = may_pass(errno) ? Fault::cut : Fault::unsupported;
        return errno_error(fault, "cannot make a UDP socket", {}, errno);
    }

    // Best effort: the answers are read below, and the administrator's bounds hold.
    const int wanted = static_cast<int>(options.buffer_bytes);
    set_option(fd.get(), SOL_SOCKET, SO_RCVBUF, wanted);
    set_option(fd.get(), SOL_SOCKET, SO_SNDBUF, wanted);
    set_option(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, 1);
    // The kernel's own time of arrival: a busy host takes a datagram milliseconds later.
    set_option(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, 1);
    set_option(fd.get(), IPPROTO_UDP, UDP_GRO, 1);
    set_discovery(fd.get(), family);
    if (family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);

    const SocketAddress local(options.bind_to, family);
    if (::bind(fd.get(), local.get(), local.length) != 0) {
        return errno_error(Fault::session, "cannot bind " + port_name(options.bind_to), {}, errno);
    }
    if (options.connect_to.set()) {
        const SocketAddress peer(options.connect_to, family);
        if (::connect(fd.get(), peer.get(), peer.length) != 0) {
            return errno_error(Fault::session, "cannot reach " + port_name(options.connect_to), {},
                               errno);
        }
    }

    std::shared_ptr<SocketShare> share = options.share;
    if (share == nullptr) {
        auto own = make_socket_share();
        if (!own) return own.error();
        share = *std::move(own);
    }
    std::unique_ptr<UdpSocket> socket(
        new UdpSocket(std::move(fd), family, reactor, std::move(share)));
    socket->connected_ = options.connect_to.set();
    // The kernel doubles what is asked for, for its own overhead, and answers with the double. Of
    // larger pages it takes a power of two for a long datagram, and not its pages.
    const auto counted =
        static_cast<std::size_t>(get_option(socket->fd_.get(), SOL_SOCKET, SO_RCVBUF));
    socket->receive_buffer_ = ::sysconf(_SC_PAGESIZE) <= kPage ? counted / 2 : counted / 3;
    if (set_option(socket->fd_.get(), IPPROTO_UDP, UDP_SEGMENT, 0)) {
        socket->max_segments_ = kMaxSegments;
    } else {
        say_unsegmented();
    }
    if (buffers != nullptr) *buffers = {options.buffer_bytes, socket->receive_buffer_};
    return socket;
}

UdpSocket::UdpSocket(Descriptor fd, int family, Reactor& reactor,
                     std::shared_ptr<SocketShare> share)
    : fd_(std::move(fd)), family_(family), reactor_(reactor), share_(std::move(share)) {
    reactor_.add_busy(fd_.get(), &readiness_);
}

UdpSocket::~UdpSocket() {
    reactor_.remove_busy(fd_.get());
}

std::uint16_t UdpSocket::port() const {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    LAMBDA_ASSERT(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0);
    return address_of(storage).port;
}

// One system call, or four where the text is lent. Segmented where the burst is longer than a
// segment.
SendOutcome UdpSocket::send(std::span<const ByteView> parts, std::size_t segment_bytes,
                            ports::Text text, const Address& to) {
    LAMBDA_ASSERT(segment_bytes > 0 && parts.size() <= kMostParts);
    if (!readiness_.writable) return SendOutcome::would_block;
    std::array<iovec, kMostParts> vectors;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        vectors[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
        bytes += parts[i].size();
    }
    LAMBDA_ASSERT(bytes <= kLargestBurst);
    const bool segmented = bytes > segment_bytes;
    if (segmented && max_segments_ == 1) return SendOutcome::unsegmented;
    SocketAddress address;
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = parts.size();
    if (!connected_) {
        address = SocketAddress(to, family_);
        message.msg_name = &address.storage;
        message.msg_namelen = address.length;
    }
    SegmentSize size;
    if (segmented) size.attach_to(message, segment_bytes);
    const bool lent = lends_ && text == ports::Text::lasts && !segmented && parts.size() == 3 &&
                      PagePipe::takes(parts[1]);
    const int error = lent ? send_lent(message, bytes) : send_message(message);
    if (error == 0) return SendOutcome::sent;
    return refused_because(error, segmented, segment_bytes, to);
}

int UdpSocket::send_message(const msghdr& message, int flags) const {
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | flags);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

int UdpSocket::send_lent(const msghdr& message, std::size_t bytes) {
    const iovec& text = message.msg_iov[1];
    int error = share_->pipe.load({static_cast<std::byte*>(text.iov_base), text.iov_len});
    if (error == 0) {
        error = send_loaded(message, bytes);
        if (!refuses_way(error)) return error;
    } else if (may_pass(error)) {
        return send_message(message);
    }
    // Not by this way, or not at all.
    const int copied = send_message(message);
    if (copied == 0) {
        say_unlent();
        lends_ = false;
    }
    return copied;
}

int UdpSocket::send_loaded(const msghdr& message, std::size_t bytes) {
    msghdr part = message;
    part.msg_iovlen = 1;
    // A datagram that several calls put together leaves its checksum to the interface only where
    // it has a segment's size.
    SegmentSize size;
    size.attach_to(part, bytes);
    if (const int error = send_message(part, MSG_MORE); error != 0) {
        share_->pipe.empty();
        return error;
    }
    int error = share_->pipe.append_to(fd_.get());
    if (error == 0) {
        part = {};
        part.msg_iov = &message.msg_iov[2];
        part.msg_iovlen = 1;
        error = send_message(part);
        if (error == 0) return 0;
    } else {
        // No event tells when a pipe's pages would be taken.
        error = may_pass(error) ? ENOMEM : EOPNOTSUPP;
    }
    // What still waits, if the kernel has not dropped it, leaves without its tag: it is no packet.
    set_option(fd_.get(), IPPROTO_UDP, UDP_CORK, 0);
    return error;
}

// May turn segmentation off, once and for good.
SendOutcome UdpSocket::refused_because(int error_number, bool segmented, std::size_t segment_bytes,
                                       const Address& to) {
    switch (error_number) {
        case EAGAIN:
            readiness_.writable = false;
            return SendOutcome::would_block;
        case ENOBUFS:  // a full device queue: no event tells when it has room
        case ENOMEM:
            return SendOutcome::would_block;
        case EMSGSIZE:
            hop_sizes_ = {};
            return SendOutcome::too_large;
        case EINVAL:  // of a segment that is larger than the interface's MTU, among others
            if (segmented) {
                hop_sizes_ = {};
                if (segment_bytes > largest_datagram(to)) return SendOutcome::too_large;
            }
            [[fallthrough]];
        case EIO:  // the interface cannot checksum segments
            if (segmented) {
                max_segments_ = 1;
                say_unsegmented();
                return SendOutcome::unsegmented;
            }
            return SendOutcome::refused;
        default:
            return SendOutcome::refused;
    }
}

std::span<ports::Arrival> UdpSocket::receive(const ports::TextPlaces& places) {
    for (int i = 0; i < kMostErrors && readiness_.readable; ++i) {
        const std::span<mmsghdr> messages = share_->intake->clear(places);
        const int received =
            ::recvmmsg(fd_.get(), messages.data(), static_cast<unsigned>(messages.size()),
                       MSG_DONTWAIT, nullptr);
        if (received > 0) return hand_out(static_cast<std::size_t>(received));
        // Any other error is an ICMP message that the kernel hands out once: what arrived stands
        // behind it, and the sending side hears of a peer that is gone.
        if (errno == EAGAIN) readiness_.readable = false;
    }
    return {};
}

std::span<ports::Arrival> UdpSocket::hand_out(std::size_t messages) {
    const Time before = time_of(CLOCK_MONOTONIC);
    const Time real = time_of(CLOCK_REALTIME);
    const Time now = time_of(CLOCK_MONOTONIC);
    clock_offset_.read(before, real, now);
    for (std::size_t m = 0; m < messages; ++m) {
        Time arrived = now;
        const std::size_t segment = read_control(share_->intake->message(m).msg_hdr, arrived);
        share_->intake->cut(m, segment, arrived);
    }
    return share_->intake->arrivals();
}

// The size of the datagrams that were coalesced in this message; 0 for one alone. `arrived` changes
// where the kernel tells.
std::size_t UdpSocket::read_control(msghdr& message, Time& arrived) {
    std::size_t segment_bytes = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int told = 0;
            std::memcpy(&told, CMSG_DATA(c), sizeof told);
            segment_bytes = static_cast<std::size_t>(told);
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            std::uint32_t overflow = 0;
            std::memcpy(&overflow, CMSG_DATA(c), sizeof overflow);
            dropped_ += overflow - last_overflow_;
            last_overflow_ = overflow;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            timespec stamp{};
            std::memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
            arrived = clock_offset_.arrival(time_of(stamp));
        }
    }
    return segment_bytes;
}

std::size_t UdpSocket::largest_datagram(const Address& to) {
    for (const HopSize& known : hop_sizes_) {
        if (known.bytes != 0 && known.to.same_host(to)) return known.bytes;
    }
    // A connected socket alone tells the MTU of a route (ip(7), IP_MTU).
    const int family = is_ipv4(to.ip) ? AF_INET : AF_INET6;
    const Descriptor scout(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    set_discovery(scout.get(), family);
    const SocketAddress address(to, family);
    std::size_t mtu = kSafeMtu;
    if (scout && ::connect(scout.get(), address.get(), address.length) == 0) {
        const int told = family == AF_INET ? get_option(scout.get(), IPPROTO_IP, IP_MTU)
                                           : get_option(scout.get(), IPPROTO_IPV6, IPV6_MTU);
        mtu = std::max(static_cast<std::size_t>(std::max(told, 0)), kSafeMtu);
    }
    const std::size_t headers = (family == AF_INET ? kIpv4Header : kIpv6Header) + kUdpHeader;
    const std::size_t bytes = std::min(mtu - headers, kLargestIpv4);
    hop_sizes_[next_hop_size_] = {to, bytes};
    next_hop_size_ = (next_hop_size_ + 1) % hop_sizes_.size();
    return bytes;
}

Result<std::shared_ptr<SocketShare>> make_socket_share() {
    auto intake = Intake::make();
    if (!intake) return intake.error();
    return std::make_shared<SocketShare>(SocketShare{*std::move(intake), {}});
}

Result<std::unique_ptr<ports::DatagramSocket>> make_udp_socket(const UdpOptions& options,
                                                               Reactor& reactor,
                                                               SocketBuffers* buffers) {
    auto made = UdpSocket::make(options, reactor, buffers);
    if (!made) return made.error();
    return std::unique_ptr<ports::DatagramSocket>(std::move(*made));
}

std::uint16_t local_port(const ports::DatagramSocket& socket) {
    return dynamic_cast<const UdpSocket&>(socket).port();
}

}  // namespace lambda::io
