// What a run of flows is told as: a table for people, one line of JSON, a series as CSV.
#pragma once

#include <iosfwd>
#include <string>

#include "tools/sim/flows.h"

namespace lambda::simulation {

// Four decimals.
double rounded(double value);

// One line, without its end.
std::string json_of(const FlowsResult& result);

void print(const FlowsResult& result);

// One row for each bin. A `run` that is not empty is a first column.
void write_csv(std::ostream& out, const FlowsResult& result, const std::string& run);

}  // namespace lambda::simulation
