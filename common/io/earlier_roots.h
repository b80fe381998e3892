// The roots that a walk has been through, for those behind them: where one of these would read an
// entry that lands under a name (`a/ b/`, both with an x). Bound: kMostNamed names of roots; who
// comes behind those is found in contents alone. The walking thread's.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace lambda::io {

class EarlierRoots {
  public:
    static constexpr std::size_t kMostNamed = 200'000;

    // `name` as WalkRoot has it. False: there were kMostNamed already.
    bool note(const std::string& path, const std::string& name);
    // First below those whose contents land. Nothing need stand there.
    struct Place {
        std::string path;
        bool root = false;  // itself; where that is a link, it was followed
    };
    std::vector<Place> places_of(const std::string& name) const;

  private:
    std::vector<std::string> contents_;
    std::unordered_multimap<std::string, std::string> named_;  // the name, the path
};

}  // namespace lambda::io
