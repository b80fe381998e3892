#include "common/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace lambda {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 11> kSizes{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12},
                                       {"KiB", 1024.0},
                                       {"MiB", 1048576.0},
                                       {"GiB", 1073741824.0},
                                       {"TiB", 1099511627776.0},
                                       {"PiB", 1125899906842624.0}}};
constexpr std::array<Unit, 9> kRates{{{"", 1},
                                      {"bit/s", 1},
                                      {"kbit/s", 1e3},
                                      {"Mbit/s", 1e6},
                                      {"Gbit/s", 1e9},
                                      {"Tbit/s", 1e12},
                                      {"MB/s", 8e6},
                                      {"GB/s", 8e9},
                                      {"TB/s", 8e12}}};
constexpr std::array<Unit, 6> kDurations{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};

std::string names(std::span<const Unit> units) {
    std::string text;
    for (const Unit& unit : units) {
        if (unit.name.empty()) continue;
        if (!text.empty()) text += ", ";
        text += unit.name;
    }
    return text;
}

Result<double> parse_quantity(std::string_view text, std::span<const Unit> units,
                              const char* what) {
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit_text(end,
                                     static_cast<std::size_t>(text.data() + text.size() - end));
    if (problem == std::errc() && std::isfinite(number) && number >= 0) {
        for (const Unit& unit : units) {
            if (unit.name == unit_text) return number * unit.factor;
        }
    }
    return Error{.fault = Fault::usage,
                 .message = "'" + std::string(text) + "' is not a " + what,
                 .path = {},
                 .side = Side::local,
                 .remedy = "write a number and one of " + names(units)};
}

std::string format_scaled(double value, double base, std::span<const char* const> names,
                          const char* format) {
    std::size_t step = 0;
    while (value >= base && step + 1 < names.size()) {
        value /= base;
        ++step;
    }
    char text[48];
    std::snprintf(text, sizeof text, step == 0 ? "%.0f %s" : format, value, names[step]);
    return text;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    const Result<double> value = parse_quantity(text, kSizes, "size");
    if (!value) return value.error();
    // 2^63: what an off_t can hold.
    if (*value >= 9.2e18) {
        return Error{.fault = Fault::usage,
                     .message = "'" + std::string(text) + "' is too large a size",
                     .path = {},
                     .side = Side::local,
                     .remedy = {}};
    }
    return static_cast<std::uint64_t>(*value);
}

Result<BitRate> parse_rate(std::string_view text) {
    const Result<double> value = parse_quantity(text, kRates, "rate");
    if (!value) return value.error();
    return BitRate{*value};
}

Result<Duration> parse_duration(std::string_view text) {
    const Result<double> value = parse_quantity(text, kDurations, "duration");
    if (!value) return value.error();
    if (*value >= 9.2e18) {
        return Error{.fault = Fault::usage,
                     .message = "'" + std::string(text) + "' is too long a duration",
                     .path = {},
                     .side = Side::local,
                     .remedy = {}};
    }
    return Duration(static_cast<Duration::rep>(*value));
}

std::string format_size(std::uint64_t bytes) {
    static constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    return format_scaled(static_cast<double>(bytes), 1024, kNames, "%.2f %s");
}

std::string format_rate(BitRate rate) {
    static constexpr const char* kNames[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    return format_scaled(rate.bits_per_second, 1000, kNames, "%.2f %s");
}

std::string format_duration(Duration duration) {
    char text[48];
    const double value = seconds(duration);
    if (value < 1e-3) {
        std::snprintf(text, sizeof text, "%.1f us", value * 1e6);
    } else if (value < 1) {
        std::snprintf(text, sizeof text, "%.1f ms", value * 1e3);
    } else if (value < 120) {
        std::snprintf(text, sizeof text, "%.1f s", value);
    } else {
        const long whole = static_cast<long>(value);
        std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60,
                      whole % 60);
    }
    return text;
}

}  // namespace lambda
