// A time as reports and messages write it. Pure.
#pragma once

#include <ctime>
#include <string>

namespace lambda::client {

// "2026-11-27T22:41:00Z".
std::string utc_text(std::time_t time);

}  // namespace lambda::client
