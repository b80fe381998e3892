// A host in virtual time: one end of a transfer, its wake-ups and its clock. One thread.
#pragma once

#include <memory>
#include <vector>

#include "common/engine/end.h"
#include "common/ports/clock.h"
#include "tools/sim/path.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

struct HostSettings {
    Duration lateness{0};    // of each wake-up by a datagram, uniform up to this
    double clock_drift = 0;  // share by which its clock is fast
    // A turn takes time: a turn that asks to come again at once would else stop the clock.
    Duration turn = std::chrono::microseconds(20);
};

class Host final : public ports::Clock {
  public:
    Host(World& world, HostSettings settings);
    // What it runs, from now on.
    void start(std::unique_ptr<engine::End> end, std::vector<VirtualSocket*> sockets);

    // Drops what it runs, with the connections that it holds.
    void stop() { end_.reset(); }
    // Runs it no more, and nobody hears of that: its connections stand.
    void freeze() { frozen_ = true; }

    Alarm& alarm() { return alarm_; }
    Alarm& arrivals() { return arrivals_; }
    Time now() override { return local(world_.now()); }
    engine::End& end() { return *end_; }
    bool done() const { return end_ != nullptr && end_->done(); }
    // Done, stopped or frozen.
    bool over() const { return end_ == nullptr || frozen_ || end_->done(); }

  private:
    Time local(Time world) const;
    Time global(Time local) const;
    void turn();

    World& world_;
    HostSettings settings_;
    Time epoch_;
    std::unique_ptr<engine::End> end_;
    bool frozen_ = false;
    std::vector<VirtualSocket*> sockets_;
    Alarm alarm_;
    Alarm arrivals_;
};

}  // namespace lambda::simulation
