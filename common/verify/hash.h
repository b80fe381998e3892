// The checksums that we and others' catalogues know files by. Pure.
//
// `xxh3-128` is the digest that a transfer compares (common/transfer/digest.h), and
// `sha256-tree-1MiB` what it compares too where it must hold; they and `adler32` (RFC 1950 §8.2)
// are taken of pieces side by side, `md5` and `sha256` need the bytes in order. Against who forges,
// the two of SHA-256 alone hold.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/cursor.h"
#include "common/base/result.h"
#include "common/transfer/digest.h"

namespace lambda::verify {

enum class Algorithm { xxh3_128, md5, sha256, sha256_tree, adler32 };
inline constexpr std::array kAlgorithms{Algorithm::xxh3_128, Algorithm::md5, Algorithm::sha256,
                                        Algorithm::sha256_tree, Algorithm::adler32};

const char* to_string(Algorithm algorithm);                       // "xxh3-128"
std::optional<Algorithm> parse_algorithm(std::string_view name);  // in any case of letters
std::string algorithm_names();                                    // "xxh3-128,md5,..."
std::size_t hex_digits(Algorithm algorithm);

class Hash {
  public:
    static constexpr std::uint64_t kPieceBytes = transfer::kLeafBytes;
    // What is known of a piece apart from its neighbours.
    using Part = transfer::Sha256;  // of most algorithms its front

    // Of `size` bytes in all. Fault::unsupported: this machine's OpenSSL does not allow it (FIPS).
    static Result<std::unique_ptr<Hash>> make(Algorithm algorithm, std::uint64_t size);
    virtual ~Hash() = default;

    // Any thread, any order.
    virtual Part prepare(ByteView piece) const = 0;
    // One thread at a time, in order: pieces of kPieceBytes, of which the last may be shorter.
    virtual void add(const Part& part, ByteView piece) = 0;
    virtual std::string finish() = 0;  // hex digits; once, at the end
};

}  // namespace lambda::verify
