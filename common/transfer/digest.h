// Digests of files, docs/protocol.md §7: leaves of 1 MiB of file offset, XXH3-128 each; a file's is
// XXH3-128 over its size and its leaves in order. So `checksum`, receipts and any transfer agree,
// whatever the block size. XXH3 finds errors; it does not hold against who wants to forge. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/cursor.h"

struct XXH3_state_s;

namespace lambda::transfer {

using Digest = std::array<std::byte, 16>;

constexpr std::uint64_t kLeafBytes = 1u << 20;

Digest leaf_digest(ByteView leaf);
// Of `bytes` zeros, at most a leaf.
Digest zero_leaf_digest(std::uint64_t bytes);
std::string to_hex(const Digest& digest);

class FileDigest {
  public:
    explicit FileDigest(std::uint64_t size);
    FileDigest(FileDigest&&) noexcept;
    FileDigest& operator=(FileDigest&&) noexcept;
    ~FileDigest();

    // The leaf that starts at `offset`. Leaves may come in any order, each once; those ahead of
    // their turn are kept: 16 bytes each, and a map node for each run of them.
    void add_leaf(std::uint64_t offset, const Digest& digest);
    // All leaves of [first, last) are zeros. `first` is a leaf bound, `last` one or the file's end.
    void add_zeros(std::uint64_t first, std::uint64_t last);
    bool complete() const { return next_ >= size_; }
    // Once complete.
    Digest finish() const;

  private:
    struct Waiting {
        std::uint64_t last = 0;      // where the run ends
        std::vector<Digest> leaves;  // none: all of them are zeros
    };
    void absorb(std::uint64_t offset, const Digest& digest);
    void drain();

    std::uint64_t size_;
    std::uint64_t next_ = 0;  // all leaves below are in the state
    std::map<std::uint64_t, Waiting> waiting_;
    struct Free {
        void operator()(XXH3_state_s* state) const;
    };
    std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace lambda::transfer
