#include "tools/sim/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lambda::simulation {

double mean(std::span<const float> values) {
    if (values.empty()) return 0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

namespace {

double covariance(std::span<const float> a, std::span<const float> b) {
    const double mean_a = mean(a), mean_b = mean(b);
    double sum = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        sum += (a[i] - mean_a) * (b[i] - mean_b);
    return a.empty() ? 0 : sum / static_cast<double>(a.size());
}

}  // namespace

double variation(std::span<const float> values) {
    const double middle = mean(values);
    return middle == 0 ? 0 : std::sqrt(covariance(values, values)) / middle;
}

double correlation(std::span<const float> a, std::span<const float> b) {
    const double both = std::sqrt(covariance(a, a) * covariance(b, b));
    return both == 0 ? 0 : covariance(a, b) / both;
}

std::size_t settles(std::span<const float> values, std::size_t width, double level, double share) {
    if (values.size() < width) return values.size();
    const std::size_t windows = values.size() - width + 1;
    std::size_t at = windows;
    while (at > 0 && std::abs(mean(values.subspan(at - 1, width)) - level) <= share * level) --at;
    return at == windows ? values.size() : at;
}

double deviation(std::span<const float> a, std::span<const float> b, std::size_t width) {
    double off = 0, sum = 0;
    for (std::size_t at = 0; at + width <= std::min(a.size(), b.size()); at += width) {
        const double own = mean(a.subspan(at, width)), other = mean(b.subspan(at, width));
        off += std::abs(own - other);
        sum += other;
    }
    return off / sum;
}

}  // namespace lambda::simulation
