#include "common/io/file/page_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace lambda::io {
namespace {

// <linux/mman.h> and <asm/unistd.h> have these from 6.5 on only; the number is that of all
// architectures but Alpha.
constexpr long kCachestat = 451;
struct CacheStatRange {
    std::uint64_t offset, length;
};
struct CacheStat {
    std::uint64_t cached, dirty, under_writeback, evicted, recently_evicted;
};

constexpr std::uint64_t kJudged = std::uint64_t{4} << 30;

}  // namespace

bool mostly_cached(int fd, Range bytes) {
    CacheStatRange range{bytes.first, std::min(bytes.length(), kJudged)};
    CacheStat found{};
    if (range.length == 0 || ::syscall(kCachestat, fd, &range, &found, 0) != 0) return false;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return found.cached * page >= range.length / 8 * 7;
}

}  // namespace lambda::io
