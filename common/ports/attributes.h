// What is kept of an entry beside its content. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lambda::ports {

struct Owner {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    bool operator==(const Owner&) const = default;
};

// POSIX ACLs are extended attributes too: system.posix_acl_access and _default.
struct ExtendedAttribute {
    std::string name;
    std::string value;
    bool operator==(const ExtendedAttribute&) const = default;
};

// Owner and extended attributes: only of an archive.
struct Archived {
    Owner owner;
    std::vector<ExtendedAttribute> extended{};
    bool operator==(const Archived&) const = default;
};

struct FileMetadata {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;  // since 1970, may be negative
    std::uint32_t mode = 0;     // permission bits
    std::optional<Archived> archived{};
};

}  // namespace lambda::ports
