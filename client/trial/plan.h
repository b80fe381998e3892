// What a trial runs: each leg with each combination of what is varied. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/trial/options.h"
#include "common/base/result.h"
#include "config/client_settings.h"

namespace lambda::client {

// From where to where; "disk" and "memory" are the sender's, then the receiver's.
struct Leg {
    enum class Kind { read, put, get };
    const char* name;
    Kind kind;
    bool from_disk;
    bool to_disk;

    bool operator==(const Leg&) const = default;
};

const std::vector<Leg>& all_legs();

struct TrialCase {
    Leg leg;
    std::uint64_t size = 0;
    config::ClientSettings settings;

    // "put-memory-disk, 1.00 GiB, 4 stripes, sabul"
    std::string title() const;
    // The same for the same case in another trial.
    std::string key() const;
};

constexpr std::size_t kMostCases = 4096;

// Leg after leg, so that files are made once. Errors (Fault::usage): a value that is not allowed,
// no such leg, more than kMostCases.
Result<std::vector<TrialCase>> cases_of(const TrialOptions& options,
                                        const config::ClientSettings& settings);

}  // namespace lambda::client
