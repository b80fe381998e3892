#include "tests/support/path/impairments.h"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace lambda::path {
namespace {

constexpr std::pair<std::string_view, double Impairments::*> kSettings[] = {
    {"loss", &Impairments::loss},         {"duplicate", &Impairments::duplicate},
    {"reorder", &Impairments::reorder},   {"flip", &Impairments::flip},
    {"truncate", &Impairments::truncate}, {"reorder-ms", &Impairments::reorder_ms},
    {"delay-ms", &Impairments::delay_ms}, {"mtu", &Impairments::mtu},
    {"all", &Impairments::all},
};

}  // namespace

bool Impairments::set(std::string_view name, std::string_view value) {
    const std::string text(value);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(number) || number < 0) return false;
    for (const auto& [key, member] : kSettings) {
        if (key == name) {
            this->*member = number;
            return true;
        }
    }
    return false;
}

std::string Counters::to_json() const {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"packets", packets},     {"bytes", bytes},       {"udp_packets", udp_packets},
        {"udp_bytes", udp_bytes}, {"lost", lost},         {"duplicated", duplicated},
        {"reordered", reordered}, {"flipped", flipped},   {"truncated", truncated},
        {"too_big", too_big},     {"stalled", stalled},   {"cut", cut},
        {"dead", dead},           {"overflow", overflow}, {"unwritten", unwritten},
    };
    std::ostringstream out;
    const char* comma = "{";
    for (const auto& [name, value] : all) {
        out << comma << '"' << name << "\":" << value;
        comma = ",";
    }
    out << '}';
    return out.str();
}

bool Dice::hit(double percent) {
    if (percent <= 0) return false;
    return std::uniform_real_distribution<double>(0, 100)(engine_) < percent;
}

std::size_t Dice::below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(engine_);
}

}  // namespace lambda::path
