// One UDP socket with segmentation offload both ways (udp(7): UDP_SEGMENT, UDP_GRO). No allocation
// after it was made. Engine thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "common/io/net/clock_offset.h"
#include "common/io/net/socket_address.h"
#include "common/io/net/socket_share.h"
#include "common/io/net/sockets.h"
#include "common/io/reactor.h"

namespace lambda::io {

class UdpSocket final : public ports::DatagramSocket {
  public:
    static Result<std::unique_ptr<UdpSocket>> make(const UdpOptions& options, Reactor& reactor,
                                                   SocketBuffers* buffers);
    ~UdpSocket() override;

    ports::SendOutcome send(std::span<const ByteView> parts, std::size_t segment_bytes,
                            ports::Text text, const Address& to) override;
    std::span<ports::Arrival> receive(const ports::TextPlaces& places) override;
    std::uint64_t dropped() const override { return dropped_; }
    std::size_t receive_buffer_bytes() const override { return receive_buffer_; }
    std::size_t largest_datagram(const Address& to) override;
    std::size_t max_segments() const override { return max_segments_; }

    std::uint16_t port() const;

  private:
    UdpSocket(Descriptor fd, int family, Reactor& reactor, std::shared_ptr<SocketShare> share);
    // By sendmsg(2); 0, or errno.
    int send_message(const msghdr& message, int flags = 0) const;
    // A packet whose text is not copied; 0, or errno.
    int send_lent(const msghdr& message, std::size_t bytes);
    int send_loaded(const msghdr& message, std::size_t bytes);
    ports::SendOutcome refused_because(int error_number, bool segmented, std::size_t segment_bytes,
                                       const Address& to);
    std::span<ports::Arrival> hand_out(std::size_t messages);
    std::size_t read_control(msghdr& message, Time& arrived);

    Descriptor fd_;
    const int family_;
    Reactor& reactor_;
    Reactor::Readiness readiness_;
    bool connected_ = false;
    std::size_t max_segments_ = 1;
    std::size_t receive_buffer_ = 0;

    ClockOffset clock_offset_;
    std::uint64_t dropped_ = 0;
    std::uint32_t last_overflow_ = 0;  // SO_RXQ_OVFL counts in 32 bits

    std::shared_ptr<SocketShare> share_;
    bool lends_ = true;  // texts that last

    struct HopSize {
        Address to;
        std::size_t bytes = 0;
    };
    std::array<HopSize, 8> hop_sizes_{};  // the addresses of a socket's peers are few
    std::size_t next_hop_size_ = 0;
};

}  // namespace lambda::io
