// Names of which a set is kept in bounded memory. Pure.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

namespace lambda::transfer {

// Holds their hashes. Where there are too many, every name may be among them.
class NameHashes {
  public:
    static constexpr std::size_t kMost = 1 << 16;

    void add(const std::string& name) {
        if (hashes_.size() < kMost) hashes_.insert(std::hash<std::string>{}(name));
    }
    bool may_hold(const std::string& name) const {
        return hashes_.size() >= kMost || hashes_.contains(std::hash<std::string>{}(name));
    }

  private:
    std::unordered_set<std::size_t> hashes_;
};

}  // namespace lambda::transfer
