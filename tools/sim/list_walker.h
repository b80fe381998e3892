// A walker of entries that stand in memory: what is added is a file of that name, but for a
// directory's contents, which are the entries; nothing is walked. One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "common/ports/walker.h"

namespace lambda::simulation {

class ListWalker final : public ports::Walker {
  public:
    // Entries that come before the roots.
    std::deque<ports::Found> entries;

    void set_options(ports::WalkOptions) override {}
    bool add(ports::WalkRoot root) override {
        if (root.name != ".") entries.push_back({.path = root.path, .name = root.name});
        return true;
    }
    void no_more() override { no_more_ = true; }
    void take(std::vector<ports::Found>& out, std::size_t most) override {
        for (; most > 0 && !entries.empty(); --most) {
            out.push_back(std::move(entries.front()));
            entries.pop_front();
        }
    }
    std::uint64_t looked() const override { return 0; }
    bool ended() const override { return no_more_ && entries.empty(); }

  private:
    bool no_more_ = false;
};

}  // namespace lambda::simulation
