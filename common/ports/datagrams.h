// The datagram seam: one UDP socket. Virtual at burst granularity (up to 64 packets), never per
// packet. All calls on the engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/address.h"
#include "common/base/cursor.h"
#include "common/base/time.h"
#include "common/ports/packet_cipher.h"

namespace lambda::ports {

enum class SendOutcome {
    sent,
    would_block,  // nothing left the machine: the identical bytes go again later
    too_large,    // the path's interface carries no segment of this size; nothing left
    unsegmented,  // the interface segments no more: max_segments() is 1 from now on; nothing left
    refused,      // the route or the peer's host refuses (ICMP, unreachable); nothing left
};

// What becomes of the text of a packet that is a burst by itself, in three parts: header, text,
// tag.
enum class Text {
    passes,  // like all other parts: its place is another's once send() has returned
    lasts,   // it stays as it is until the receiver has told that it has it, or minds no more what
             // it gets; a datagram that leaves later than that may carry anything in its place
};

struct Arrival {
    ByteSpan bytes;  // one datagram, the receiver's to scribble on
    Address from;
    Time at{};         // when it reached the host, which may be before anybody took it
    ByteSpan apart{};  // what follows its header lies where it was wanted, and not in `bytes`

    // All of it in `bytes`, behind which there is room for that.
    void gather() {
        if (apart.empty()) return;
        std::byte* const text = bytes.data() + kHeaderBytes;
        std::memmove(text + apart.size(), text, bytes.size() - kHeaderBytes);
        std::memcpy(text, apart.data(), apart.size());
        bytes = ByteSpan(bytes.data(), bytes.size() + apart.size());
        apart = {};
    }
};

// Where the texts of the datagrams that come next are wanted. They are put there before anybody
// looked at them: whatever comes, nothing that counts may lie there.
struct TextPlaces {
    ByteSpan room;                // the first one's, behind it the second one's, and so on ...
    std::size_t each = 0;         // ... so many bytes of each, of the last what is left
    std::size_t most = SIZE_MAX;  // messages of the kernel, where there is no room
};

class DatagramSocket {
  public:
    virtual ~DatagramSocket() = default;

    static constexpr std::size_t kMostParts = 129;
    // Sends the bytes of `parts`, one after the other, as datagrams of `segment_bytes` each, the
    // last one as long as what is left. At most max_segments() of them, 65,507 bytes in all and
    // kMostParts. All of them go, or none. A text that lasts need not be copied.
    virtual SendOutcome send(std::span<const ByteView> parts, std::size_t segment_bytes, Text text,
                             const Address& to) = 0;
    // So much of it, from the beginning of a page on, costs least.
    static constexpr std::size_t kLastingText = 61440;

    // Takes some of what has arrived: nothing when there is nothing now. It is valid until the next
    // receive(), of this socket or of any other of the engine.
    // With `places.room`, datagrams by themselves may lie apart, as many as have a place there, and
    // no more come.
    virtual std::span<Arrival> receive(const TextPlaces& places) = 0;

    // Datagrams that the kernel threw away because the receive buffer was full, since the start.
    virtual std::uint64_t dropped() const = 0;
    // What the receive buffer really holds of payload, in bytes (half of SO_RCVBUF's answer).
    virtual std::size_t receive_buffer_bytes() const = 0;
    // The largest UDP payload that the first hop towards `to` carries in one piece.
    virtual std::size_t largest_datagram(const Address& to) = 0;
    virtual std::size_t max_segments() const = 0;
};

}  // namespace lambda::ports
