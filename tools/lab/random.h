// The lab's dice: the same numbers for the same seed on every machine.
#pragma once

#include <cstdint>
#include <random>

namespace lambda::lab {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    // From 0 to below 1.
    double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    // Draws nothing where it cannot happen.
    bool chance(double probability) { return probability > 0 && unit() < probability; }

  private:
    std::mt19937_64 engine_;
};

}  // namespace lambda::lab
