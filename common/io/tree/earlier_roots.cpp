#include "common/io/tree/earlier_roots.h"

namespace lambda::io {

bool EarlierRoots::room_for(std::size_t bytes) {
    full_ = full_ || names_.size() >= kMostNames || bytes_ + bytes > kMostBytes;
    if (!full_) bytes_ += bytes;
    return !full_;
}

void EarlierRoots::begin(const std::string& path, const std::string& name) {
    ++roots_;
    current_known_ = room_for(path.size());
    if (current_known_) known_.push_back({path, name == "."});
}

void EarlierRoots::note(const std::string& name) {
    if (!current_known_ || !room_for(name.size())) return;
    names_.emplace(name, static_cast<std::uint32_t>(known_.size() - 1));
}

std::vector<EarlierRoots::Place> EarlierRoots::places_of(const std::string& name) const {
    std::vector<Place> places;
    const auto [begin, end] = names_.equal_range(name);
    for (auto at = begin; at != end; ++at) {
        const Root& root = known_[at->second];
        if (!root.contents) {
            places.push_back({.path = root.path, .root = true});
        } else {
            places.push_back({.path = root.path + (root.path.ends_with('/') ? "" : "/") + name});
        }
    }
    return places;
}

}  // namespace lambda::io
