// Ranges of a file in the control language: what XFER says of one, and STAGE (docs/protocol.md §3
// and §12). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file_range.h"
#include "common/base/result.h"

namespace lambda::session {

class Facts;
class FactReader;

// Of a get: which bytes are asked for. Of a put: which are brought, and to which stage.
struct RangeOffer {
    FileRange range;
    std::string stage;        // put
    std::uint64_t fence = 0;  // put; 0: above every claim before

    bool operator==(const RangeOffer&) const = default;
};
void add_range(Facts& facts, const RangeOffer& offer);
// Nothing where the facts name none. What is wrong, the reader remembers.
std::optional<RangeOffer> read_range(const Facts& facts, FactReader& reader, bool put);

// STAGE do=...;stage=...;whole=...;modified=...;inode=...; path
struct StageRequest {
    enum class Action { look, finish, discard };
    Action action = Action::look;
    Stage stage;
    std::string path;

    bool operator==(const StageRequest&) const = default;
};
std::string format_stage(const StageRequest& request);  // the argument
Result<StageRequest> parse_stage(std::string_view argument);

// "FIRST-LAST", bytes [first, last): a line of the answer to do=look.
std::string format_done(Range bytes);
std::optional<Range> parse_done(std::string_view text);

}  // namespace lambda::session
