// A file at one moment, a range of it, and the stage on which ranges become a file again. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/interval_set.h"
#include "common/base/units.h"

namespace lambda {

// What tells a file from others, and from itself once it was changed.
struct FileVersion {
    std::uint64_t size = 0;     // bytes
    std::int64_t mtime_ns = 0;  // since 1970, may be negative
    std::uint64_t id = 0;       // its inode; 0: not known, and then not compared

    bool same_as(const FileVersion& other) const {
        return size == other.size && mtime_ns == other.mtime_ns &&
               (id == other.id || id == 0 || other.id == 0);
    }
    bool operator==(const FileVersion&) const = default;
};

constexpr std::uint64_t kToTheEnd = UINT64_MAX;

// What is moved of a file, in place of all of it.
struct FileRange {
    Range bytes{0, kToTheEnd};  // the last may be kToTheEnd
    // What the file must be, then and at the end; none: whatever it is, as long as it stays so.
    std::optional<FileVersion> version{};

    bool operator==(const FileRange&) const = default;
};

// Where ranges of one file wait for each other, beside the name that the whole will have. All who
// carry ranges of it agree on the name, and on which file it is.
struct Stage {
    std::string name;
    FileVersion source;

    bool operator==(const Stage&) const = default;
};

// Ranges on a stage begin and end at multiples of it, or end with the file: a leaf of a range is a
// leaf of the file, and no two writers ever share a page.
constexpr std::uint64_t kStageGrain = MiB;
constexpr std::size_t kMostStageName = 64;
// What an off_t holds.
constexpr std::uint64_t kMostFileBytes = INT64_MAX;

// A job's word of the caller: letters, digits, '.', '_' and '-'.
inline bool is_stage_name(std::string_view text) {
    const auto fine = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    return !text.empty() && text.size() <= kMostStageName &&
           std::all_of(text.begin(), text.end(), fine);
}

inline bool fits_stage(Range bytes, std::uint64_t size) {
    return bytes.first < bytes.last && bytes.last <= size && size <= kMostFileBytes &&
           bytes.first % kStageGrain == 0 && (bytes.last % kStageGrain == 0 || bytes.last == size);
}

}  // namespace lambda
