// What stands on a MemoryDisk, looked at in virtual time. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ports/target_tree.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

class MemoryTree final : public ports::TargetTree {
  public:
    MemoryTree(World& world, Alarm& owner, MemoryDisk& disk)
        : world_(world), owner_(owner), disk_(disk) {}

    Duration latency = std::chrono::microseconds(200);
    std::map<ports::TargetEvent::Kind, Duration> latencies;  // of some kinds, others
    bool gets_on = false;                                    // something is looked at each second

    const ports::Rights& rights() const override { return rights_; }
    void begin(const std::string& path) override;
    void seek_extraneous(Kept kept, bool clears) override;
    void look(std::vector<ports::Look> looks) override;
    void mend(std::uint64_t tag, ports::TargetName target, ports::FileMetadata metadata,
              std::int64_t stood_ns) override;
    void keep(std::uint64_t tag, ports::TargetName target) override;
    std::uint64_t extraneous() const override { return found_; }
    void next_extraneous(bool in_the_way, bool remove) override;
    std::uint64_t looked() const override {
        return gets_on ? static_cast<std::uint64_t>(world_.now().time_since_epoch() /
                                                    std::chrono::seconds(1))
                       : 0;
    }
    std::vector<ports::TargetEvent> poll() override;

  private:
    struct Gone {
        std::string path, name;
        bool directory = false;
    };
    void later(ports::TargetEvent::Kind kind, std::function<void(ports::TargetEvent&)> action);
    ports::Standing standing(const ports::Look& look) const;
    std::set<std::string> children(const std::string& prefix) const;
    // With all below it, what a directory holds before itself.
    void gather(std::vector<Gone>& into, const std::string& path, const std::string& name);

    World& world_;
    Alarm& owner_;
    MemoryDisk& disk_;
    const ports::Rights rights_;
    Kept kept_;
    bool seeks_ = false;
    bool clears_ = false;
    std::vector<ports::Look> entered_;
    std::set<std::string> met_;  // paths
    std::vector<Gone> surplus_, in_the_way_;
    std::uint64_t found_ = 0;
    std::vector<ports::TargetEvent> ended_;
    Time ends_{};  // the last call so far
};

}  // namespace lambda::simulation
