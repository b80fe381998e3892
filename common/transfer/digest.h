// Digests of files, docs/protocol.md §7: leaves of 1 MiB of file offset, XXH3-128 each; a file's is
// XXH3-128 over its size and its leaves in order. So `checksum`, receipts and any transfer agree,
// whatever the block size. XXH3 finds errors; it does not hold against who wants to forge: for that
// there is the same over SHA-256, `sha256-tree-1MiB`: the SHA-256 of the size (u64, big-endian) and
// the SHA-256 of each leaf in order. The size tells how many leaves there are, so no two contents
// share a text; and leaves can be digested as they come. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/cursor.h"
#include "common/transfer/sha256.h"

struct XXH3_state_s;

namespace lambda::transfer {

using Digest = std::array<std::byte, 16>;

constexpr std::uint64_t kLeafBytes = 1u << 20;

// Of a whole file.
struct Digests {
    Digest xxh3{};
    std::optional<Sha256> sha256{};  // where it is wanted: the tree's
    bool operator==(const Digests&) const = default;
};

Digest leaf_digest(ByteView leaf);
// Of `bytes` zeros, at most a leaf.
Digest zero_leaf_digest(std::uint64_t bytes);
Sha256 zero_leaf_sha256(std::uint64_t bytes);

struct FreeXxh3 {
    void operator()(XXH3_state_s* state) const;
};

// The digest of one leaf in a block of memory, taken as its bytes come, while they lie in the
// processor's cache: a whole leaf is more than its second level holds. What did not come in order
// is read once all of the leaf is there.
class LeafDigest {
  public:
    // Fewer bytes are left until more come: each step costs.
    static constexpr std::uint32_t kStep = 64 * 1024;

    // Where in the block what is digested of the leaf at `first` ends.
    std::uint32_t reached(std::uint32_t first) const { return first == first_ ? next_ : first; }
    // All of the leaf at `first` is there up to `last`, and stays what it is. The leaf that was
    // digested before is forgotten.
    void extend(ByteView block, std::uint32_t first, std::uint32_t last);
    // Of the leaf [first, last), all of which is there.
    Digest finish(ByteView block, std::uint32_t first, std::uint32_t last);
    // What was there is not any more.
    void forget() { next_ = first_; }

  private:
    std::uint32_t first_ = 0, next_ = 0;  // nothing digested: equal
    std::unique_ptr<XXH3_state_s, FreeXxh3> state_;
};

class FileDigest {
  public:
    // `strong`: by SHA-256 too.
    explicit FileDigest(std::uint64_t size, bool strong = false);
    FileDigest(FileDigest&&) noexcept;
    FileDigest& operator=(FileDigest&&) noexcept;
    ~FileDigest();

    // The leaf that starts at `offset`. Leaves may come in any order, each once; those ahead of
    // their turn are kept: 16 bytes each (48 of a strong one), and a map node for each run of them.
    // `sha256`: of the leaf; null unless strong.
    void add_leaf(std::uint64_t offset, const Digest& digest, const Sha256* sha256 = nullptr);
    // By SHA-256 too where that is wanted, taken of the leaf itself.
    void add_leaf(std::uint64_t offset, const Digest& digest, ByteView leaf);
    // All leaves of [first, last) are zeros. `first` is a leaf bound, `last` one or the file's end.
    void add_zeros(std::uint64_t first, std::uint64_t last);
    // A hole may have more leaves than can be digested in one go: beyond kZerosAtOnce, which take
    // some 20 us, they wait for calls of advance(), each for at most `zeros` of them.
    static constexpr std::uint64_t kZerosAtOnce = 1024;
    bool lags() const { return !waiting_.empty() && waiting_.begin()->first == next_; }
    void advance(std::uint64_t zeros);
    bool complete() const { return next_ >= size_; }
    // Once complete.
    Digest finish() const;
    Sha256 finish_strong() const;
    Digests finish_all() const;

  private:
    struct Waiting {
        std::uint64_t last = 0;      // where the run ends
        std::vector<Digest> leaves;  // none: all of them are zeros
        std::vector<Sha256> strong;  // likewise, where it is
    };
    void absorb(std::uint64_t offset, const Digest& digest, const Sha256* sha256);
    void begin_state();

    std::uint64_t size_;
    std::uint64_t next_ = 0;  // all leaves below are digested
    // The text of a file of one leaf at most: most files need no state.
    std::array<std::byte, 32> begun_;
    std::size_t begun_bytes_ = 0;
    std::map<std::uint64_t, Waiting> waiting_;
    std::unique_ptr<XXH3_state_s, FreeXxh3>
        state_;  // from the second leaf on: of all, the first too
    std::optional<Sha256State> strong_;
};

}  // namespace lambda::transfer
