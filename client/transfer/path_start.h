// Where a transfer starts by what its path is known for, and what it learns of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/remote/connection.h"
#include "client/transfer/destination.h"
#include "common/engine/outcome.h"
#include "common/session/terms.h"
#include "config/client_settings.h"

namespace lambda::client {

class PathStart {
  public:
    // `beside`: how many transfers of this process may be under way on the path, this one with
    // them.
    PathStart(const Plan& plan, const config::ClientSettings& settings, std::uint16_t beside);

    // Before the terms are offered. `limit`: what the transfer may have now; 0: all.
    void apply(const Connection& connection, BitRate limit, session::Terms& terms) const;
    void learn(const engine::Outcome& outcome) const;

  private:
    // Nothing: the user says where to start; it is a trial, which begins the same each time; or a
    // law to compare with, which is to begin so, too, and may stay where it begins.
    std::optional<std::string> path_;
    std::uint16_t beside_;
};

}  // namespace lambda::client
