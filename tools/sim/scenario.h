// Scenarios as people write them: "law=sabul2003,rtt=100ms,initial=200Mbit/s,count=3" for flows,
// "10s,capacity=500Mbit/s" for what happens under way. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "tools/sim/flows.h"

namespace lambda::simulation {

// Keys: law, rtt, initial, known, highest, stripes, syn, start, access, size, count. What follows
// `law=` up to the next of these keys belongs to the law. The rtt of several flows may be a range,
// 20ms..200ms, over which they are spread evenly; so may start, within which the seed draws each.
// Fault::usage names the word that is wrong.
Result<std::vector<FlowSettings>> parse_flow(std::string_view text);

// A time, then capacity=, rtt=, loss=.
Result<PathChange> parse_change(std::string_view text);

}  // namespace lambda::simulation
