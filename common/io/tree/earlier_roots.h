// What the roots of a walk put at the top of where they land, for the roots behind them: of two
// that hold one name (`a/ b/`, both with an x) the first one's stays. Bounds: kMostNames names and
// kMostBytes; what is beyond is not known. The walking thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lambda::io {

class EarlierRoots {
  public:
    static constexpr std::size_t kMostNames = 200'000;
    static constexpr std::size_t kMostBytes = 64 << 20;

    // What is noted from here on is of this root; `name` as WalkRoot has it.
    void begin(const std::string& path, const std::string& name);
    // A name without a '/' was found.
    void note(const std::string& name);
    // Some roots, or their names, were too many.
    bool full() const { return full_; }
    // How many have begun.
    std::uint64_t roots() const { return roots_; }

    struct Place {
        std::string path;
        bool root = false;  // itself; where that is a link, it was followed
    };
    std::vector<Place> places_of(const std::string& name) const;

  private:
    struct Root {
        std::string path;
        bool contents = false;
    };
    bool room_for(std::size_t bytes);

    std::vector<Root> known_;
    std::unordered_multimap<std::string, std::uint32_t> names_;  // to one of them
    bool current_known_ = false;                                 // the last of them is this one
    std::uint64_t roots_ = 0;
    std::size_t bytes_ = 0;
    bool full_ = false;
};

}  // namespace lambda::io
