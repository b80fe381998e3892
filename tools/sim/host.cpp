#include "tools/sim/host.h"

#include <algorithm>

namespace lambda::simulation {

Host::Host(World& world, HostSettings settings)
    : world_(world),
      settings_(settings),
      epoch_(world.now()),
      alarm_(world, [this] { turn(); }),
      arrivals_(world, [this] { alarm_.set(world_.now() + world_.uniform(settings_.lateness)); }) {}

void Host::start(std::unique_ptr<engine::End> end, std::vector<VirtualSocket*> sockets) {
    end_ = std::move(end);
    sockets_ = std::move(sockets);
    alarm_.set(world_.now());
}

Time Host::local(Time world) const {
    return world + from_seconds(seconds(world - epoch_) * settings_.clock_drift);
}

Time Host::global(Time local) const {
    if (local == kNever) return kNever;
    return epoch_ + from_seconds(seconds(local - epoch_) / (1 + settings_.clock_drift));
}

void Host::turn() {
    if (over()) return;
    const Time next = global(end_->turn(now()));
    if (next != kNever) alarm_.set(std::max(next, world_.now() + settings_.turn));
    for (const VirtualSocket* socket : sockets_) {
        if (socket->next_due() != kNever) arrivals_.set(socket->next_due());
    }
}

}  // namespace lambda::simulation
