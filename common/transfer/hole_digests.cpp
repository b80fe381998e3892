#include "common/transfer/hole_digests.h"

namespace lambda::transfer {
namespace {

// Leaves in one turn: 1 ms, or 10 by a SHA-256 without instructions.
constexpr std::uint64_t kZerosATurn = 65536;

}  // namespace

void HoleDigests::add(FileNumber number, std::uint64_t size, std::uint64_t data,
                      FileDigest& digest) {
    const bool large = (size - data) / kLeafBytes >= FileDigest::kZerosAtOnce;
    if (large) files_.emplace(number, &digest);
}

std::optional<FileNumber> HoleDigests::turn() {
    for (auto at = files_.begin(); at != files_.end();) {
        auto& [number, digest] = *at;
        if (digest->lags()) {
            digest->advance(kZerosATurn);
            working_ = true;
            return number;
        }
        at = digest->complete() ? files_.erase(at) : std::next(at);
    }
    working_ = false;
    return std::nullopt;
}

}  // namespace lambda::transfer
