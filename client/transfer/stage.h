// STAGE in a session that stands (docs/protocol.md §12). A refusal of what may pass is Fault::cut.
#pragma once

#include <string>

#include "client/remote/connection.h"
#include "common/base/file_range.h"
#include "common/base/result.h"

namespace lambda::client {

Result<IntervalSet> look_at_stage(Connection& connection, const Stage& stage,
                                  const std::string& path);
Result<void> finish_stage(Connection& connection, const Stage& stage, const std::string& path);
Result<void> discard_stage(Connection& connection, const Stage& stage, const std::string& path);

}  // namespace lambda::client
