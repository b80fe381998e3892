// What was claimed and what was done of a file on a stage: the log beside the staging file. Lines
// of text, each ended by its own checksum, that are only ever appended, under the log's lock; a
// torn or garbled line says nothing, and what it would have said moves again. Pure.
//
//   file SIZE MTIME_NS ID
//   claim FIRST LAST FENCE        from now on these bytes may be written, by this claim alone
//   done FIRST LAST FENCE MODE    they are verified and flushed; MODE, octal, is for the whole
//
// Decimal numbers, bytes [FIRST, LAST), and behind each line a blank and its XXH3-64 in hex.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file_range.h"
#include "common/base/interval_set.h"

namespace lambda::io {

class RangeLog {
  public:
    // 100,000 lines and more; who needs more cuts files into larger ranges.
    static constexpr std::size_t kMaxBytes = 16u << 20;

    struct Claim {
        Range bytes;
        std::uint64_t fence = 0;
    };

    static RangeLog parse(std::string_view text);

    // Nothing where the log says nothing of it: then nothing else counts either.
    const std::optional<FileVersion>& source() const { return source_; }
    const IntervalSet& done() const { return done_; }
    std::uint32_t mode() const { return mode_; }
    // Of all claims that share a byte with these; 0: none.
    std::uint64_t newest_fence(Range bytes) const;

    // Lines to append.
    static std::string source_line(const FileVersion& source);
    static std::string claim_line(const Claim& claim);
    static std::string done_line(const Claim& claim, std::uint32_t mode);

  private:
    struct Held {
        std::uint64_t last = 0;
        std::uint64_t fence = 0;
    };
    void take(std::string_view line);
    void take_claim(const Claim& claim);
    void take_done(const Claim& claim, std::uint32_t mode);
    // Cuts what is held in two where it reaches over `at`.
    void cut(std::uint64_t at);

    std::optional<FileVersion> source_;
    std::map<std::uint64_t, Held> held_;  // by their first byte, disjoint: by the newest claim each
    IntervalSet done_;
    std::uint32_t mode_ = 0;
};

}  // namespace lambda::io
