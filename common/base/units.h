// Quantities as people write them: sizes ("64MiB", "5GB"), rates ("800Mbit/s"), durations ("10ms").
// kB, MB, GB, TB are decimal; KiB, MiB, GiB, TiB binary; a bare number is bytes, bits a second, or
// is refused for a duration. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/base/time.h"

namespace lambda {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

// A rate in bits a second.
struct BitRate {
    double bits_per_second = 0;

    constexpr double bytes_per_second() const { return bits_per_second / 8; }
    // How long `bytes` take at this rate.
    constexpr Duration time_for(double bytes) const {
        return from_seconds(bytes * 8 / bits_per_second);
    }
    static constexpr BitRate from_bytes_per_second(double value) { return BitRate{value * 8}; }
    auto operator<=>(const BitRate&) const = default;
};

Result<std::uint64_t> parse_size(std::string_view text);
Result<BitRate> parse_rate(std::string_view text);
Result<Duration> parse_duration(std::string_view text);

// "1.50 GiB", "823.4 Mbit/s", "12.3 ms"
std::string format_size(std::uint64_t bytes);
std::string format_rate(BitRate rate);
std::string format_duration(Duration duration);

}  // namespace lambda
