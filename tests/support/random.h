// A seed for a randomised test: fresh on each run, or SEED to repeat one. Print it with
// CAPTURE, so that a failure names it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace lambda::test {

inline std::uint64_t random_seed() {
    if (const char* given = std::getenv("SEED")) return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

}  // namespace lambda::test
