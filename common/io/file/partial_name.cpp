#include "common/io/file/partial_name.h"

#include <xxhash.h>
#include <span>

#include "common/base/hex.h"

namespace lambda::io {

std::string partial_name(const std::string& leaf) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(leaf.data(), leaf.size()));
    return ".lambda-" + to_hex(std::as_bytes(std::span(digest.digest))) + std::string(kPartialEnd);
}

std::string journal_name(const std::string& partial) {
    return partial.substr(0, partial.size() - kPartialEnd.size()) + std::string(kJournalEnd);
}

}  // namespace lambda::io
