// What put and get are asked for of a part of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file_range.h"
#include "common/base/result.h"

namespace CLI {
class App;
}

namespace lambda::client {

struct RangeOptions {
    std::optional<Range> bytes;
    std::string stage;        // empty: none
    std::uint64_t fence = 0;  // 0: above every claim before
    bool finish = false, discard = false;

    bool any() const { return bytes || fence > 0 || finish || discard || !stage.empty(); }
};

void add_range_options(CLI::App& app, RangeOptions& into);

// "A-B": bytes A to B, with B; "A-": from A to the end.
std::optional<Range> parse_range(std::string_view text);

// What does not go together. `sources`: how many files are named. Fault::usage.
Result<void> check_range_options(const RangeOptions& options, std::size_t sources);

}  // namespace lambda::client
