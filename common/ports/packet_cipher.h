// The cipher seam: seals and opens the packets of one flow in one direction, in batches. The nonce
// is the packet number; a number is never sealed twice with different bytes (RFC 9001 §5.3).
// Keys follow the number's high part (number >> 22) by themselves. Engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/cursor.h"

namespace lambda::ports {

constexpr std::size_t kHeaderBytes = 16;

struct SealJob {
    std::uint64_t number = 0;
    std::byte* packet = nullptr;  // kHeaderBytes are written already; text and tag follow
    ByteView text;                // straight from the block
    ByteView trailer;             // appended to the text: a leaf digest, or empty
    bool apart = false;           // the text is not copied: trailer and tag follow the header
    bool bare = false;            // the tag need not cover text and trailer
};

struct OpenJob {
    std::uint64_t number = 0;
    ByteView packet;            // header, text, tag
    std::byte* text = nullptr;  // where the text goes, or lies; must not overlap `packet`
    bool ok = false;            // answer; when false, what `text` points at is undefined
    bool bare = false;          // as it was sealed
    std::size_t apart = 0;      // bare: so much of the text is at `text`, and not in `packet`
};

class PacketCipher {
  public:
    virtual ~PacketCipher() = default;
    virtual std::size_t tag_bytes() const = 0;  // 16, or 8 in clear
    // Whether a job may be `apart` and `bare`, since the text leaves as it lies in the block. Else
    // neither is looked at.
    virtual bool leaves_text() const { return false; }
    virtual void seal(std::span<const SealJob> jobs) = 0;
    virtual void open(std::span<OpenJob> jobs) = 0;
};

}  // namespace lambda::ports
