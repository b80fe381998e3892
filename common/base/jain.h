// Jain's index of fairness. Pure.
#pragma once

#include <span>

namespace lambda {

// 1 where all have the same, or none has anything; 1/n where one of n has all.
inline double jain(std::span<const double> shares) {
    double sum = 0, squares = 0;
    for (const double share : shares) {
        sum += share;
        squares += share * share;
    }
    return squares == 0 ? 1 : sum * sum / (squares * static_cast<double>(shares.size()));
}

}  // namespace lambda
