#include "config/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace lambda::config {
namespace {

constexpr std::size_t kLongestTypo = 64;  // past that it is no misspelt name

// Levenshtein's distance.
std::size_t distance(const std::string& from, const std::string& to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& names) {
    std::string nearest;
    if (name.size() > kLongestTypo) return nearest;
    std::size_t least = std::max<std::size_t>(name.size() / 2, 1);
    for (const std::string& each : names) {
        const std::size_t away = distance(name, each);
        if (away > least || (away == least && !nearest.empty())) continue;
        least = away;
        nearest = each;
    }
    return nearest;
}

}  // namespace lambda::config
