// The commands whose answer needs nothing but themselves: FEAT, HELP, NOOP, OPTS, PBSZ, PROT, SYST,
// TYPE. Pure.
#pragma once

#include <optional>

#include "common/session/command.h"
#include "common/session/reply.h"

namespace lambda::server {

// Nothing for any other verb.
std::optional<session::Reply> answer_plain_command(const session::Command& command);

}  // namespace lambda::server
