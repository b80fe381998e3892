// GRANT and COPY: a transfer from server to server, which a client conducts (docs/protocol.md §11).
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/rate_timetable.h"
#include "common/base/result.h"
#include "common/session/terms.h"

namespace lambda::session {

// What an account hands to one other server: GRANT facts path.
struct GrantRequest {
    Direction direction = Direction::get;  // as the server that presents it sees it
    std::string peer;                      // fingerprint of that server's key, which it must prove
    std::optional<std::uint64_t> size{};   // bytes at most; nothing: any
    Duration life = std::chrono::minutes(5);  // until it is presented
    bool contents = false;                    // get: what the directory holds, not itself
    bool several = false;                     // put: names are appended to the path
    bool follow = false;                      // get: links within it may be followed, out of it too
    bool archive = false;                     // owners and extended attributes may be sent
    std::string sync{};                       // put: the one record SYNC that may be said, raw
    std::vector<std::string> names{};         // get: of what lies in the directory; empty: all
    // Of these: a look before found files there, and so many bytes at the end of the directory's
    // path. No link in what was found is followed.
    std::optional<std::uint16_t> found{};
    Duration again{0};  // for so long after each time it may be presented once more
    std::string path;

    bool operator==(const GrantRequest&) const = default;
};
constexpr Duration kLongestGrant = std::chrono::hours(1);
constexpr Duration kLongestAgain = std::chrono::hours(24 * 7);

// A record or a list of names may be longer than a line: it goes ahead, in parts, by COPY do=ahead,
// and the fact's value is "ahead". `ahead`: what went so. At most one of a request.
constexpr std::size_t kMaxAhead = 512 * 1024;
constexpr std::size_t kMaxNames = 1000;
// Of the requests: what must go ahead, or empty.
std::string ahead_of(const GrantRequest& request);
// The arguments of the COPYs that carry it.
std::vector<std::string> format_ahead(std::string_view bytes);

std::string format_grant_request(const GrantRequest& request);  // the argument
Result<GrantRequest> parse_grant_request(std::string_view argument, std::string_view ahead = {});
// The text of the 200 that answers it, and the argument that presents it: "grant=T;".
std::string format_grant(const std::string& token);
Result<std::string> parse_grant(std::string_view text);

// What a client asks the server that dials: COPY facts path.
struct CopyRequest {
    Terms terms;       // direction get: this server fetches; put: it sends
    std::string host;  // of the other server
    std::uint16_t port = 0;
    std::string peer;       // fingerprint of its key
    std::string grant;      // what it granted
    std::string there;      // the path that it granted
    bool contents = false;  // what the source directory holds, not itself
    bool several = false;   // names are appended to the target
    bool detach = false;    // goes on when the client has left
    std::string walk;       // how the source is walked: the record WALK of §7, raw
    std::string sync;       // what is to become of the target: the record SYNC of §7, raw
    std::vector<std::string> names{};      // of what lies in the source directory; empty: all of it
    std::optional<std::uint16_t> found{};  // of these, as in GrantRequest
    Duration again{0};                     // for so long the other is dialled again after a cut
    RateTimetable hours{};                 // of the rate, by the clock of the server that dials
    std::string path;                      // here

    bool operator==(const CopyRequest&) const = default;
};
std::string format_copy_request(const CopyRequest& request);  // the argument
std::string ahead_of(const CopyRequest& request);
Result<CopyRequest> parse_copy_request(std::string_view argument, std::string_view ahead = {});
// Of the path of such a name (directory, name), how many bytes at its end were found; 0: none.
std::uint16_t found_bytes(std::optional<std::uint16_t> found, const std::string& name);
// Where such a name stands.
std::string path_in(const std::string& directory, const std::string& name);

// COPY do=list; do=wait;copy=N; do=cancel;copy=N;[grant=T;] do=ahead;part=HEX;
struct CopyOrder {
    enum class What { list, wait, cancel, ahead };
    What what = What::list;
    std::uint64_t copy = 0;
    std::string grant{};  // wait, cancel: that it began with; empty: any
    std::string part{};   // ahead: raw

    bool operator==(const CopyOrder&) const = default;
};
std::string format_copy_order(const CopyOrder& order);  // the argument
// Nothing where the argument is no order but begins a copy.
Result<std::optional<CopyOrder>> parse_copy_order(std::string_view argument);

enum class CopyState { dialling, moving, done, failed, cut };
const char* to_string(CopyState state);

// How far a copy is: a line of COPY do=list, and the text of each 112.
struct CopyStatus {
    std::uint64_t copy = 0;
    CopyState state = CopyState::dialling;
    Direction direction = Direction::get;
    std::string peer;           // "host:port" of the other server
    std::string there;          // the path at it
    std::uint64_t started = 0;  // seconds since 1970
    std::uint64_t bytes = 0, total_bytes = 0;
    std::uint64_t files = 0, files_known = 0;
    std::uint64_t sent_packets = 0, lost_packets = 0;
    std::uint64_t rtt_us = 0;
    std::uint64_t rate = 0;  // bit/s, of the last few seconds; of the whole copy once it is over
    std::string standstill;  // why nothing moves, as this server sees it; empty: it does
    std::string path;        // here

    bool operator==(const CopyStatus&) const = default;
};
std::string format_copy_status(const CopyStatus& status);
Result<CopyStatus> parse_copy_status(std::string_view text);

}  // namespace lambda::session
