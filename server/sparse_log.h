// Words that strangers can cause as often as they like: of each host one in kPause, of kMostHosts
// hosts at most, and each tells how many were left out before it. Loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/time.h"
#include "server/admission.h"

namespace lambda::server {

class SparseLog {
  public:
    static constexpr Duration kPause = std::chrono::minutes(1);
    static constexpr std::size_t kMostHosts = 64;

    // What the log is to have now: `text`, or nothing.
    std::optional<std::string> pick(const Admission::Host& host, std::string text, Time now);

  private:
    std::map<Admission::Host, Time> next_;  // until then nothing more of it
    std::uint64_t left_out_ = 0;
};

}  // namespace lambda::server
