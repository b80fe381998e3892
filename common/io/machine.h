// The makers of the ports: what the mover asks of the machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/address.h"
#include "common/base/file_range.h"
#include "common/base/result.h"
#include "common/io/file/root.h"
#include "common/io/tls/tls.h"
#include "common/ports/clock.h"
#include "common/ports/datagrams.h"
#include "common/ports/disk.h"
#include "common/ports/feedback.h"
#include "common/ports/packet_cipher.h"

namespace lambda::io {

class RangeClaim;
class Reactor;

class Clock final : public ports::Clock {
  public:
    Time now() override;             // CLOCK_MONOTONIC
    Duration thread_cpu() override;  // CLOCK_THREAD_CPUTIME_ID
};

// What was asked for and what the machine gave: said once where it is too small.
struct SocketBuffers {
    std::size_t wanted = 0;
    std::size_t given = 0;
};

// One UDP socket: non-blocking, UDP_SEGMENT and UDP_GRO where the kernel has them (probed; falls
// back to single packets on EIO/EINVAL, said once), don't-fragment with PMTU by probing,
// SO_RXQ_OVFL counted. `bind_to.port` 0: any. `connect_to` set: connected. `share`: what the
// sockets of one thread share, so that what comes by any of them lies in the processor's cache.
// Empty: a socket's own.
struct SocketShare;
struct UdpOptions {
    Address bind_to;
    Address connect_to;
    std::size_t buffer_bytes = 4u << 20;
    std::shared_ptr<SocketShare> share{};
};
Result<std::shared_ptr<SocketShare>> make_socket_share();
Result<std::unique_ptr<ports::DatagramSocket>> make_udp_socket(const UdpOptions& options,
                                                               Reactor& reactor,
                                                               SocketBuffers* buffers);
std::uint16_t local_port(const ports::DatagramSocket& socket);

// A feedback channel over a TLS stream whose handshake and JOIN are done. TCP_NODELAY.
std::unique_ptr<ports::FeedbackChannel> make_feedback_channel(TlsStream stream, Reactor& reactor);

struct DiskOptions {
    std::uint64_t memory_bytes = 176ull << 20;  // of slots, in all
    std::uint32_t block_bytes = 1u << 20;
    unsigned queue_depth = 64;
    bool allow_uring = true;
    // What arrives may wait while the engine's thread writes into memory.
    bool copies_writes = true;
    // Whether the engine's thread has too much to do, so that what lies in memory is read and
    // written by another one. Empty: by its load, by a rule for each (thread_load.h). Engine
    // thread.
    std::function<bool()> overloaded{};
    std::optional<FileRange> range{};     // of each source
    std::shared_ptr<RangeClaim> claim{};  // of the one target, in place of all others
};
// io_uring where it is allowed, else the thread pool, said once in the log. Slots are reserved, and
// touched and registered only when first used.
// `reactor` must outlive the disk. Partial files that are open when it is destroyed are removed.
Result<std::unique_ptr<ports::Disk>> make_disk(const DiskOptions& options, Root root,
                                               Reactor& reactor);
// "io_uring" or "threads".
const char* disk_engine(const ports::Disk& disk);

enum class FlowDirection : std::uint8_t { data = 0, reverse = 1 };
struct CipherSpec {
    std::uint8_t protection = 0;  // session::Protection
    std::uint8_t cipher = 0;      // session::Cipher
    std::array<std::byte, 32> secret{};
    std::uint16_t stripe = 0;
    FlowDirection direction = FlowDirection::data;
};
// Keys: HKDF-Expand-SHA256(secret, "lambda-ftp key" ‖ stripe ‖ direction ‖ cipher ‖ protection ‖
// age), docs/protocol.md §5.
Result<std::unique_ptr<ports::PacketCipher>> make_packet_cipher(const CipherSpec& spec);

// The faster of AES-128-GCM and ChaCha20-Poly1305 here, by a measurement of a few milliseconds.
std::uint8_t fastest_cipher();

// Cryptographically random bytes.
void fill_random(ByteSpan out);

}  // namespace lambda::io
