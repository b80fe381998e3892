#include "common/transfer/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"

namespace lambda::transfer {
namespace {

Digest canonical(XXH128_hash_t hash) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    Digest digest;
    std::memcpy(digest.data(), bytes.digest, digest.size());
    return digest;
}

std::uint64_t leaf_end(std::uint64_t offset, std::uint64_t size) {
    return std::min(size, offset / kLeafBytes * kLeafBytes + kLeafBytes);
}

}  // namespace

Digest leaf_digest(ByteView leaf) {
    return canonical(XXH3_128bits(leaf.data(), leaf.size()));
}

Digest zero_leaf_digest(std::uint64_t bytes) {
    static const std::vector<std::byte> zeros(kLeafBytes);
    static const Digest whole = leaf_digest(zeros);
    LAMBDA_ASSERT(bytes <= kLeafBytes);
    return bytes == kLeafBytes ? whole : leaf_digest(ByteView(zeros).first(bytes));
}

std::string to_hex(const Digest& digest) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : digest) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

void FileDigest::Free::operator()(XXH3_state_s* state) const {
    XXH3_freeState(state);
}

FileDigest::FileDigest(std::uint64_t size) : size_(size), state_(XXH3_createState()) {
    LAMBDA_ASSERT(state_ != nullptr);
    XXH3_128bits_reset(state_.get());
    std::array<std::byte, 8> header;
    store_u64(header.data(), size);
    XXH3_128bits_update(state_.get(), header.data(), header.size());
}

FileDigest::FileDigest(FileDigest&&) noexcept = default;
FileDigest& FileDigest::operator=(FileDigest&&) noexcept = default;
FileDigest::~FileDigest() = default;

void FileDigest::add_leaf(std::uint64_t offset, const Digest& digest) {
    LAMBDA_ASSERT(offset % kLeafBytes == 0 && offset < size_);
    if (offset == next_) {
        absorb(offset, digest);
        drain();
    } else {
        const auto after = waiting_.upper_bound(offset);
        const auto before = after == waiting_.begin() ? after : std::prev(after);
        const bool extends = after != waiting_.begin() && before->second.last == offset &&
                             !before->second.leaves.empty();
        Waiting& run = extends ? before->second : waiting_[offset];
        run.last = leaf_end(offset, size_);
        run.leaves.push_back(digest);
    }
}

void FileDigest::add_zeros(std::uint64_t first, std::uint64_t last) {
    LAMBDA_ASSERT(first % kLeafBytes == 0 && last <= size_);
    if (first >= last) return;
    waiting_[first] = Waiting{last, {}};
    drain();
}

void FileDigest::absorb(std::uint64_t offset, const Digest& digest) {
    std::array<std::byte, 24> record;
    store_u64(record.data(), offset);
    std::memcpy(record.data() + 8, digest.data(), digest.size());
    XXH3_128bits_update(state_.get(), record.data(), record.size());
    next_ = leaf_end(offset, size_);
}

void FileDigest::drain() {
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
        const Waiting turn = std::move(waiting_.extract(waiting_.begin()).mapped());
        for (const Digest& leaf : turn.leaves) absorb(next_, leaf);
        while (next_ < turn.last) absorb(next_, zero_leaf_digest(leaf_end(next_, size_) - next_));
    }
}

Digest FileDigest::finish() const {
    LAMBDA_ASSERT(complete());
    return canonical(XXH3_128bits_digest(state_.get()));
}

}  // namespace lambda::transfer
