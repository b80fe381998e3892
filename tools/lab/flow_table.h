// Which flow a packet is of: its addresses, its protocol and, of TCP and UDP, its ports. Fragments,
// the first one too, are known by addresses and protocol alone: those that follow it have no ports,
// and a datagram is of one flow. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/address.h"
#include "common/base/cursor.h"

namespace lambda::lab {

struct Flow {
    Address from, to;  // port 0: none
    std::uint8_t protocol = 0;
    bool operator==(const Flow&) const = default;
    // The other way between the same ends.
    Flow answer() const { return {to, from, protocol}; }
};

// Nothing of what is no IP packet. Of one that is too short for its headers, or lies about them,
// what it has.
std::optional<Flow> flow_of(ByteView packet);

// "10.77.1.1:50000 > 10.77.2.1:40000 UDP"
std::string flow_name(const Flow& flow);

// Numbers the flows of one direction as they come. A bounded number of them have one of their own;
// those that come later, and what is of no flow, share one.
class FlowTable {
  public:
    static constexpr std::uint8_t kOthers = 0;
    static constexpr std::size_t kMost = 192;  // a transfer of 64 stripes has 129

    // Allocates only for a flow that is new.
    std::uint8_t number_of(ByteView packet);
    // The one with number 1 is the first.
    const std::vector<Flow>& flows() const { return flows_; }

  private:
    struct Hash {
        std::size_t operator()(const Flow& flow) const;
    };
    static_assert(kMost <= UINT8_MAX);

    std::vector<Flow> flows_;
    std::unordered_map<Flow, std::uint8_t, Hash> numbers_;
    Flow last_;  // what follows is mostly of it
    std::uint8_t last_number_ = kOthers;
};

}  // namespace lambda::lab
