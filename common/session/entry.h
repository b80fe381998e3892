// One name of a listing: "type=file;size=12;modify=20240102030405.000000000;unix.mode=0644;perm=r;
// name" (RFC 3659 §7, docs/protocol.md §1). Names are raw bytes; one with a CR or LF travels
// percent-encoded, with the fact encoded=percent. A link's "target=" is always encoded. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace lambda::session {

enum class EntryType { file, directory, link, special };

struct Entry {
    EntryType type = EntryType::file;
    std::uint64_t size = 0;     // bytes; files alone
    std::int64_t mtime_ns = 0;  // since 1970
    std::uint32_t mode = 0;     // permission bits, 07777
    std::string perm;           // RFC 3659 §7.5.5: what this account may do
    std::string name;
    std::string target{};   // what a link shows, as it says it; empty: not told
    bool looked_at = true;  // false: size, mtime_ns and mode are not known

    bool operator==(const Entry&) const = default;
};

std::string format_entry(const Entry& entry);
// Only `type` must be there; unknown facts are ignored.
Result<Entry> parse_entry(std::string_view line);

}  // namespace lambda::session
