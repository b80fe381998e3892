// What a server tells of a copy that it carries, heard to its result, and in the terms in which the
// client tells of its own transfers.
#pragma once

#include <functional>
#include <optional>

#include "client/copy/plan.h"
#include "client/remote/connection.h"
#include "client/report/report.h"
#include "common/session/copy.h"
#include "common/session/copy_result.h"

namespace lambda::client {

// From whose point of view an error of a copy's result is told; nothing: the way between.
std::optional<Role> role_of(const Error& error, Role dialler);
mover::Outcome outcome_of(const session::CopyResult& result);
// What came over up to then.
mover::Outcome outcome_of(const session::CopyStatus& status, Duration since);

// Hears the replies of a copy up to its result, and shows the progress. `moved` is told of each
// second. At an interruption the server is told, and its result heard for a moment; where none
// comes, that is an error.
Result<session::Reply> hear_copy(Connection& connection, Report& report,
                                 const std::function<void(const session::CopyStatus&)>& moved);

}  // namespace lambda::client
