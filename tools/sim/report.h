// A run of flows as tables and charts.
#pragma once

#include <string>

#include "common/report/page.h"
#include "tools/sim/flows.h"

namespace lambda::simulation {

report::Section section_of(const std::string& title, const FlowsScenario& scenario,
                           const FlowsResult& result);

}  // namespace lambda::simulation
