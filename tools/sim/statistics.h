// The papers' measures of rates. Pure.
#pragma once

#include <cstddef>
#include <span>

namespace lambda::simulation {

double mean(std::span<const float> values);
// Standard deviation over mean; 0 where the mean is.
double variation(std::span<const float> values);
// Pearson's, at lag 0; 0 where one does not vary.
double correlation(std::span<const float> a, std::span<const float> b);
// The first window of `width` values from which on each window's mean is within `share` of `level`:
// its place; the size of `values` where the last one is not.
std::size_t settles(std::span<const float> values, std::size_t width, double level, double share);
// How far `a` is off `b`: the differences of the means of every `width` values, by the mean of `b`.
// What is left over at the end does not count. No number where nothing is left, or `b` is all 0.
double deviation(std::span<const float> a, std::span<const float> b, std::size_t width);

}  // namespace lambda::simulation
