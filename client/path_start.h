// Where a transfer starts by what its path is known for, and what it learns of that.
#pragma once

#include <optional>
#include <string>

#include "client/connection.h"
#include "client/destination.h"
#include "common/engine/outcome.h"
#include "common/session/terms.h"
#include "config/client_settings.h"

namespace lambda::client {

class PathStart {
  public:
    PathStart(const Plan& plan, const config::ClientSettings& settings);

    // Before the terms are offered.
    void apply(const Connection& connection, session::Terms& terms) const;
    void learn(const engine::Outcome& outcome) const;

  private:
    // Nothing: the user says where to start, or it is a trial, which begins the same each time.
    std::optional<std::string> path_;
};

}  // namespace lambda::client
