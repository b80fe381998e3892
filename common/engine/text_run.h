// The run of long texts in clear that arrives on one socket: they follow each other through a
// block, so the kernel may copy the next ones to where they belong. What only the next packet's
// header can tell is a guess: settle() keeps what came as expected, and brings the rest together.
// Engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "common/ports/datagrams.h"
#include "common/sabul/packet.h"
#include "common/transfer/sink.h"

namespace lambda::engine {

class TextRun {
  public:
    // For the next receive().
    ports::TextPlaces places(const transfer::Sink& sink) {
        places_ = {};
        if (!follows_ || each_ < kLeast) return places_;
        places_ = {.room = sink.room(next_), .each = each_};
        // The next block has no room before its first packet is there.
        if (places_.room.empty() && next_ % transfer::kLeafBytes == 0) places_.most = 1;
        return places_;
    }

    // Whatever is not what was expected lies together, before anything is written to the room.
    void settle(std::span<ports::Arrival> arrivals, std::size_t tag_bytes) const {
        for (ports::Arrival& each : arrivals) {
            if (each.apart.empty()) continue;
            const auto at = static_cast<std::size_t>(each.apart.data() - places_.room.data());
            const std::size_t own = std::min(places_.each, places_.room.size() - at);
            if (!is_text(each, next_ + at, own, tag_bytes)) each.gather();
        }
    }

    // Of each packet with file bytes that was accepted; `bare`: it may be one of a run.
    void took(std::uint64_t place, std::size_t bytes, bool leaf_end, bool bare) {
        follows_ = bare && (place == next_ || place % transfer::kLeafBytes == 0);
        next_ = place + bytes;
        if (!leaf_end) each_ = bytes;
    }

  private:
    // Shorter ones come several at once, which the kernel leaves together.
    static constexpr std::size_t kLeast = std::size_t{32} << 10;

    static bool is_text(const ports::Arrival& arrival, std::uint64_t place, std::size_t bytes,
                        std::size_t tag_bytes) {
        if (arrival.apart.size() != bytes) return false;
        const auto header = sabul::decode(arrival.bytes);
        if (!header || header->type != sabul::PacketType::data || header->place != place)
            return false;
        const bool leaf_end = (header->flags & sabul::kLeafEnd) != 0;
        return (header->flags & sabul::kBare) != 0 &&
               arrival.bytes.size() ==
                   sabul::kHeaderBytes + tag_bytes + (leaf_end ? sizeof(transfer::Digest) : 0);
    }

    std::uint64_t next_ = 0;  // place behind the last one
    std::size_t each_ = 0;    // bytes of one that ends no leaf
    bool follows_ = false;
    ports::TextPlaces places_;
};

}  // namespace lambda::engine
