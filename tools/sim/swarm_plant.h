// Faults planted for the swarm to find: ports that break their contract now and then. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/sim/run.h"

namespace lambda::simulation {

enum class Plant {
    early_write,     // the disk ends a write before it was made
    stale_read,      // the disk ends a read and leaves what the slot held before
    lost_frame,      // a feedback connection takes a frame and loses it
    lenient_cipher,  // the cipher passes one in 200 packets that do not open
};

std::optional<Plant> parse_plant(std::string_view name);
// "early-write, stale-read, ...".
const char* plant_names();

// The faulty ports of one run; they outlive its ends.
class PlantedPorts {
  public:
    PlantedPorts(Plant plant, Run& run);
    ~PlantedPorts();
    // In place of those in the setup of one end.
    void install(bool sends, engine::Setup& setup);

  private:
    Plant plant_;
    Run& run_;
    std::vector<std::unique_ptr<ports::Disk>> disks_;
    std::vector<std::unique_ptr<ports::FeedbackSource>> feedbacks_;
};

}  // namespace lambda::simulation
