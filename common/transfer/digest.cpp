#include "common/transfer/digest.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "common/base/assert.h"
#include "common/base/xxh3.h"

namespace lambda::transfer {
namespace {

Digest canonical(XXH128_hash_t hash) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    Digest digest;
    std::memcpy(digest.data(), bytes.digest, digest.size());
    return digest;
}

ByteView zeros(std::uint64_t bytes) {
    static const std::vector<std::byte> leaf(kLeafBytes);
    LAMBDA_ASSERT(bytes <= kLeafBytes);
    return ByteView(leaf).first(bytes);
}

std::uint64_t leaf_end(std::uint64_t offset, std::uint64_t size) {
    return std::min(size, offset / kLeafBytes * kLeafBytes + kLeafBytes);
}

}  // namespace

Digest leaf_digest(ByteView leaf) {
    return canonical(XXH3_128bits(leaf.data(), leaf.size()));
}

Digest zero_leaf_digest(std::uint64_t bytes) {
    static const Digest whole = leaf_digest(zeros(kLeafBytes));
    return bytes == kLeafBytes ? whole : leaf_digest(zeros(bytes));
}

Sha256 zero_leaf_sha256(std::uint64_t bytes) {
    static const Sha256 whole = sha256(zeros(kLeafBytes));
    return bytes == kLeafBytes ? whole : sha256(zeros(bytes));
}

void FreeXxh3::operator()(XXH3_state_s* state) const {
    XXH3_freeState(state);
}

void LeafDigest::extend(ByteView block, std::uint32_t first, std::uint32_t last) {
    const std::uint32_t from = reached(first);
    LAMBDA_ASSERT(last >= from && last - first <= kLeafBytes);
    if (state_ == nullptr) {
        state_.reset(XXH3_createState());
        if (state_ == nullptr) throw std::bad_alloc();
    }
    if (from == first) XXH3_128bits_reset(state_.get());
    XXH3_128bits_update(state_.get(), block.data() + from, last - from);
    first_ = first;
    next_ = last;
}

Digest LeafDigest::finish(ByteView block, std::uint32_t first, std::uint32_t last) {
    const std::uint32_t from = reached(first);
    if (from == first || from > last) return leaf_digest(block.subspan(first, last - first));
    extend(block, first, last);
    forget();
    return canonical(XXH3_128bits_digest(state_.get()));
}

FileDigest::FileDigest(std::uint64_t size, bool strong) : size_(size) {
    store_u64(begun_.data(), size);
    begun_bytes_ = 8;
    if (strong) strong_.emplace().add(ByteView(begun_).first(begun_bytes_));
}

FileDigest::FileDigest(FileDigest&&) noexcept = default;
FileDigest& FileDigest::operator=(FileDigest&&) noexcept = default;
FileDigest::~FileDigest() = default;

void FileDigest::add_leaf(std::uint64_t offset, const Digest& digest, const Sha256* sha256) {
    LAMBDA_ASSERT(offset % kLeafBytes == 0 && offset < size_ &&
                  strong_.has_value() == (sha256 != nullptr));
    if (offset == next_) {
        absorb(offset, digest, sha256);
        advance(kZerosAtOnce);
    } else {
        const auto after = waiting_.upper_bound(offset);
        const auto before = after == waiting_.begin() ? after : std::prev(after);
        const bool extends = after != waiting_.begin() && before->second.last == offset &&
                             !before->second.leaves.empty();
        Waiting& run = extends ? before->second : waiting_[offset];
        run.last = leaf_end(offset, size_);
        run.leaves.push_back(digest);
        if (sha256 != nullptr) run.strong.push_back(*sha256);
    }
}

void FileDigest::add_leaf(std::uint64_t offset, const Digest& digest, ByteView leaf) {
    if (!strong_) return add_leaf(offset, digest);
    const Sha256 strong = sha256(leaf);
    add_leaf(offset, digest, &strong);
}

void FileDigest::add_zeros(std::uint64_t first, std::uint64_t last) {
    LAMBDA_ASSERT(first % kLeafBytes == 0 && last <= size_);
    if (first >= last) return;
    waiting_[first] = Waiting{last, {}, {}};
    if (first == next_) advance(kZerosAtOnce);
}

void FileDigest::absorb(std::uint64_t offset, const Digest& digest, const Sha256* sha256) {
    std::array<std::byte, 24> record;
    store_u64(record.data(), offset);
    std::memcpy(record.data() + 8, digest.data(), digest.size());
    if (next_ == 0) {
        std::copy(record.begin(), record.end(), begun_.begin() + begun_bytes_);
        begun_bytes_ += record.size();
    } else {
        if (state_ == nullptr) begin_state();
        XXH3_128bits_update(state_.get(), record.data(), record.size());
    }
    if (strong_) strong_->add(*sha256);
    next_ = leaf_end(offset, size_);
}

void FileDigest::begin_state() {
    state_.reset(XXH3_createState());
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
    XXH3_128bits_update(state_.get(), begun_.data(), begun_bytes_);
}

void FileDigest::advance(std::uint64_t zeros) {
    while (lags()) {
        auto turn = waiting_.extract(waiting_.begin());
        const Waiting& run = turn.mapped();
        for (std::size_t i = 0; i < run.leaves.size(); ++i)
            absorb(next_, run.leaves[i], strong_ ? &run.strong[i] : nullptr);
        for (; next_ < run.last && zeros > 0; --zeros) {
            const std::uint64_t bytes = leaf_end(next_, size_) - next_;
            const Sha256 strong = strong_ ? zero_leaf_sha256(bytes) : Sha256{};
            absorb(next_, zero_leaf_digest(bytes), &strong);
        }
        if (next_ == run.last) continue;
        turn.key() = next_;
        waiting_.insert(std::move(turn));
        return;
    }
}

Digest FileDigest::finish() const {
    LAMBDA_ASSERT(complete());
    return canonical(state_ ? XXH3_128bits_digest(state_.get())
                            : XXH3_128bits(begun_.data(), begun_bytes_));
}

Digests FileDigest::finish_all() const {
    return {finish(), strong_ ? std::optional(finish_strong()) : std::nullopt};
}

Sha256 FileDigest::finish_strong() const {
    LAMBDA_ASSERT(complete() && strong_);
    return strong_->finish();
}

}  // namespace lambda::transfer
