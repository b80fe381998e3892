#include "common/io/earlier_roots.h"

#include <algorithm>

namespace lambda::io {

bool EarlierRoots::note(const std::string& path, const std::string& name) {
    if (name == ".") {
        contents_.push_back(path);
        return true;
    }
    if (named_.size() >= kMostNamed) return false;
    named_.emplace(name, path);
    return true;
}

std::vector<EarlierRoots::Place> EarlierRoots::places_of(const std::string& name) const {
    std::vector<Place> places;
    for (const std::string& path : contents_) places.push_back({.path = path + "/" + name});
    const std::size_t first = std::min(name.find('/'), name.size());
    const auto [begin, end] = named_.equal_range(name.substr(0, first));
    for (auto at = begin; at != end; ++at)
        places.push_back({.path = at->second + name.substr(first), .root = first == name.size()});
    return places;
}

}  // namespace lambda::io
