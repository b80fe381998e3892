// How large a datagram of a flow may be: starts at 1,200 bytes, probes upwards to what the first
// hop carries, falls back when a size that worked stops working (packetisation-layer path MTU
// discovery in the manner of RFC 8899). Where a larger one might pass, it looks again now and then:
// a path may have been narrow for a while. Pure. Sizes are UDP payloads in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/base/time.h"

namespace lambda::sabul {

class PathProbe {
  public:
    static constexpr std::size_t kBase =
        1200;                         // RFC 9000 §14.1: what any path may be taken to carry
    static constexpr int kTries = 3;  // RFC 8899 §5.1.2 MAX_PROBES
    // After which it looks again, first and at most: RFC 8899 §5.1.1 PMTU_RAISE_TIMER.
    static constexpr Duration kFirstRaise = std::chrono::seconds(30);
    static constexpr Duration kLongestRaise = std::chrono::minutes(10);

    // `first_hop`: the largest datagram that leaves this machine in one piece. `ip_udp_bytes`: 28
    // or 48.
    PathProbe(std::size_t first_hop, std::size_t ip_udp_bytes)
        : first_hop_(std::max(first_hop, kBase)), overhead_(ip_udp_bytes) {}

    std::size_t size() const { return size_; }

    // The most that this transfer and the receiver's socket want; known once the first ACK came.
    void allow(std::size_t limit) {
        limit = std::clamp(limit, kBase, first_hop_);
        if (limit == limit_) return;
        limit_ = limit;
        restart();
    }

    // The size to probe now, once for each try; nothing while one is on its way or all is known.
    std::optional<std::size_t> next_probe(Time now, Duration round_trip) {
        if (size_ >= limit_ || now < next_at_) return std::nullopt;
        if (candidates_.empty()) restart();
        if (tries_ == kTries) {
            candidates_.erase(candidates_.begin());
            tries_ = 0;
            if (candidates_.empty()) {
                rest(now);
                return std::nullopt;
            }
        }
        ++tries_;
        // Without an answer by then the try counts as lost.
        next_at_ = now + std::max<Duration>(2 * round_trip, std::chrono::milliseconds(50));
        return candidates_.front();
    }

    // A datagram of this size arrived.
    void received(std::size_t wire_bytes, Time now) {
        received_any_ = now;
        if (wire_bytes >= shortest_lost_) lost_ = 0;
        if (wire_bytes > size_ && wire_bytes <= limit_) {  // one sent before a fall may be longer
            size_ = wire_bytes;
            std::erase_if(candidates_, [&](std::size_t c) { return c <= size_; });
            tries_ = 0;
            if (candidates_.empty()) rest(now);
        }
    }
    void probe_lost() {
        if (!candidates_.empty()) next_at_ = Time{};
    }

    // Packets were lost, the shortest of them `wire_bytes` long. True: the size fell back.
    bool lost(std::size_t wire_bytes, Time now, Duration round_trip) {
        // Not the full size alone: what is sent may be shorter, and too long for the path still.
        if (size_ == kBase || wire_bytes <= kBase) return false;
        if (lost_++ == 0) {
            losing_since_ = now;
            shortest_lost_ = wire_bytes;
        }
        shortest_lost_ = std::min(shortest_lost_, wire_bytes);
        const Duration silence = std::max<Duration>(4 * round_trip, std::chrono::seconds(1));
        if (lost_ < kTries || received_any_ <= losing_since_ || now - losing_since_ < silence)
            return false;
        fall_back();
        return true;
    }
    // The kernel refused a datagram of the present size.
    void too_large(std::size_t wire_bytes) {
        if (wire_bytes > kBase) first_hop_ = std::min(first_hop_, wire_bytes - 1);
        limit_ = std::min(limit_, first_hop_);
        fall_back();
    }

  private:
    // All is tried.
    void rest(Time now) {
        next_at_ = now + raise_after_;
        raise_after_ = std::min(2 * raise_after_, kLongestRaise);
    }
    void fall_back() {
        size_ = kBase;
        lost_ = 0;
        raise_after_ = kFirstRaise;
        restart();
    }
    void restart() {
        candidates_.clear();
        tries_ = 0;
        next_at_ = Time{};
        // What is common on paths: the first hop itself, jumbo frames, Ethernet, clouds, tunnels.
        for (const std::size_t mtu : {first_hop_ + overhead_, std::size_t{9000}, std::size_t{1500},
                                      std::size_t{1460}, std::size_t{1420}}) {
            const std::size_t candidate = std::min(mtu - overhead_, limit_);
            if (candidate > size_ && candidate <= first_hop_ &&
                std::find(candidates_.begin(), candidates_.end(), candidate) == candidates_.end()) {
                candidates_.push_back(candidate);
            }
        }
        size_ = std::min(size_, std::max(limit_, kBase));
    }

    std::size_t first_hop_;
    std::size_t overhead_;
    std::size_t limit_ = 0;
    std::size_t size_ = kBase;
    std::vector<std::size_t> candidates_;  // descending, at most five
    int tries_ = 0;
    Time next_at_{};
    Duration raise_after_ = kFirstRaise;
    Time received_any_{};
    // Losses of packets above the base, since one as long as the shortest of them arrived.
    int lost_ = 0;
    Time losing_since_{};
    std::size_t shortest_lost_ = 0;
};

}  // namespace lambda::sabul
