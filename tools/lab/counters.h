// What a run counted, for people and for programs.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "tools/lab/link.h"

namespace lambda::lab {

// How late the lab itself was: from the time a packet should have arrived to its delivery.
class Lateness {
  public:
    void add(Duration late, unsigned packets) {
        const auto ns = static_cast<std::uint64_t>(late.count() > 0 ? late.count() : 0);
        // Sixteen bins an octave.
        const auto octave = ns < 16 ? 0u : static_cast<unsigned>(std::bit_width(ns)) - 5;
        packets_[octave * 16 + (ns >> octave)] += packets;
        total_ += packets;
        if (ns > most_) most_ = ns;
    }
    double quantile_us(double share) const {
        std::uint64_t seen = 0;
        for (std::size_t bin = 0; bin < packets_.size(); ++bin) {
            seen += packets_[bin];
            if (total_ > 0 && static_cast<double>(seen) >= share * static_cast<double>(total_)) {
                const std::uint64_t octave = bin < 32 ? 0 : bin / 16 - 1;
                return static_cast<double>((bin - octave * 16) << octave) / 1e3;
            }
        }
        return 0;
    }
    double most_us() const { return static_cast<double>(most_) / 1e3; }

  private:
    std::array<std::uint64_t, std::size_t{61} * 16 + 16> packets_{};
    std::uint64_t total_ = 0;
    std::uint64_t most_ = 0;
};

struct Counters {
    std::uint64_t seed = 0;
    double seconds = 0;      // from the main command's begin to its end
    double cpu_seconds = 0;  // the lab's own
    LinkCounters forward, backward;
    Lateness lateness;
    std::uint64_t stray = 0;      // to nobody at the other end
    std::uint64_t no_memory = 0;  // reads that had no room
    std::uint64_t refused = 0;    // writes that the receiving host did not take
    struct OfHost {
        std::string name, address;
        std::uint64_t unfetched = 0;
    };
    std::vector<OfHost> hosts;

    // The lab was not fast enough to be the path it should be.
    bool strained() const;
};

std::string counters_text(const Counters& counters);
std::string counters_json(const Counters& counters);

}  // namespace lambda::lab
