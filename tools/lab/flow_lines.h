// The flows of a run on its page. Lines are drawn of those that carry data: with at least a
// hundredth of the bytes of the largest, of either direction, and not the answers to a flow that
// has more than ten times as many (as the acknowledgements of TCP are). Pure.
#pragma once

#include <vector>

#include "common/report/page.h"
#include "tools/lab/lab.h"

namespace lambda::lab {

// All flows, with what they carried up to the last reading.
report::Table flows_table(const Outcome& outcome);

// Mbit/s, a line for each flow that carries data.
std::vector<report::Line> flow_rates(const Outcome& outcome);

// Jain's index of the rates over 1 s, for each direction: of the flows that carry data, have begun
// and have not ended, where there are two.
std::vector<report::Line> flow_fairness(const Outcome& outcome);

}  // namespace lambda::lab
