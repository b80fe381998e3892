// What the server that conducts a copy tells of it: the lines of a sync while it runs, and what it
// came to (docs/protocol.md §11). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/session/reply.h"
#include "common/verdict/verdict.h"

namespace lambda::session {

// One line of what a sync between servers does, or would do: the text of a 113.
struct CopyChange {
    std::string word;  // of docs/sync.md
    std::string path;
    bool directory = false;
    std::uint64_t size = 0;  // of a file that moves for it: its bytes

    bool operator==(const CopyChange&) const = default;
};
// Nothing where the name is too long for a line of the control session.
std::optional<std::string> format_copy_change(const CopyChange& change);
Result<CopyChange> parse_copy_change(std::string_view text);

// What a copy came to, seen from the server that dialled: its last reply.
struct CopyResult {
    // Errors as that server sees them: Side::local is itself, Side::remote the other.
    std::optional<Error> cut;  // it ended early, and why
    bool unreached = false;    // that was while the other server was dialled
    bool cancelled = false;    // somebody wanted that, so that no other try is to undo it
    struct Failure {
        std::string name;  // the file's, as the source announced it; empty: not told
        Error error;  // its path may be another's, such as the directory's that could not be made
    };
    std::vector<Failure> failures;
    std::uint64_t files = 0, links = 0, directories = 0, skipped = 0, unowned = 0, failed = 0;
    std::uint64_t bytes = 0, bytes_kept = 0, verified = 0, leaves_again = 0, leaves_changed = 0;
    std::uint64_t sent_packets = 0, lost_packets = 0, retransmitted_packets = 0;
    std::uint64_t refused_packets = 0;
    std::uint64_t transfer_us = 0;
    std::uint64_t adopted = 0, adopted_bytes = 0, mended = 0, deleted = 0;
    std::uint64_t cuts = 0;    // after which the other server was dialled again, and it went on
    std::uint64_t unsaid = 0;  // changes of a sync whose names were too long to be told
    struct Skip {
        std::string name, why;
    };
    std::vector<Skip> skips;  // of `skipped`
    struct Stripe {
        std::uint64_t bytes = 0, packets = 0, lost = 0, rtt_us = 0;
    };
    std::vector<Stripe> stripes;  // kMaxStripes at most
    verdict::Evidence evidence;   // of what held it back; no law: nothing is known
};
// 226 where it came to its end, 425 where the other server was not reached, so that the other way
// may be tried, 426 where it was cut. As many failures and skips as fit into kMaxResultText; what
// fits no line is shortened in the middle, a name at its beginning.
Reply format_copy_result(const CopyResult& result);
// An error too where a copy was cut and no word is said about why.
Result<CopyResult> parse_copy_result(const Reply& reply);
constexpr std::size_t kMaxResultText = 512 * 1024;
// Drops the failures and skips that format_copy_result() would not tell; their counts stay.
void forget_untold(CopyResult& result);

}  // namespace lambda::session
