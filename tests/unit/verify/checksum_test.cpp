#include "common/verify/checksum.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "common/base/hex.h"
#include "common/io/file/root.h"
#include "common/transfer/digest.h"
#include "tests/support/catch.h"
#include "tests/support/few_threads.h"

using namespace lambda;
using namespace lambda::verify;

namespace {

// A file without a name, of `bytes` bytes that differ from place to place.
class Scratch {
  public:
    explicit Scratch(std::size_t bytes) : content(bytes) {
        std::uint32_t state = 12345;
        for (std::byte& byte : content) {
            state = state * 1664525u + 1013904223u;
            byte = static_cast<std::byte>(state >> 24);
        }
        char name[] = "/tmp/lambda-checksum-XXXXXX";
        file = io::Descriptor(::mkstemp(name));
        REQUIRE(file);
        ::unlink(name);
        REQUIRE(::pwrite(file.get(), content.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    }
    ChecksumJob job(Algorithm algorithm) const {
        return {.fd = file.get(), .path = "it", .algorithm = algorithm, .stopped = [] {
                    return false;
                }};
    }
    std::vector<std::byte> content;
    io::Descriptor file;
};

std::string hash_of(Algorithm algorithm, ByteView bytes) {
    const auto hash = Hash::make(algorithm, bytes.size());
    REQUIRE(hash.ok());
    while (!bytes.empty()) {
        const ByteView piece = bytes.first(std::min<std::size_t>(bytes.size(), Hash::kPieceBytes));
        (*hash)->add((*hash)->prepare(piece), piece);
        bytes = bytes.subspan(piece.size());
    }
    return (*hash)->finish();
}

std::string hash_of(Algorithm algorithm, std::string_view text) {
    return hash_of(algorithm, std::as_bytes(std::span(text)));
}

}  // namespace

TEST_CASE("checksums are those of their standards") {
    // RFC 1321 §A.5, FIPS 180-2 §B.1, RFC 1950 §8.2 by its own definition.
    CHECK(hash_of(Algorithm::md5, "") == "d41d8cd98f00b204e9800998ecf8427e");
    CHECK(hash_of(Algorithm::md5, "abc") == "900150983cd24fb0d6963f7d28e17f72");
    CHECK(hash_of(Algorithm::sha256, "abc") ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hash_of(Algorithm::adler32, "") == "00000001");
    CHECK(hash_of(Algorithm::adler32, "Wikipedia") == "11e60398");
    CHECK(hash_of(Algorithm::adler32, std::string(3 << 20, '\xff')) == [] {
        std::uint32_t a = 1, b = 0;
        for (int i = 0; i < 3 << 20; ++i) {
            a = (a + 255) % 65521;
            b = (b + a) % 65521;
        }
        char text[9];
        std::snprintf(text, sizeof text, "%08x", b << 16 | a);
        return std::string(text);
    }());
}

TEST_CASE("the tree of SHA-256 is what docs/integrity.md says") {
    // By Python's hashlib, from the definition.
    CHECK(hash_of(Algorithm::sha256_tree, "") ==
          "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
    CHECK(hash_of(Algorithm::sha256_tree, "abc") ==
          "e13dee54bfc1b26042c1fec4b1d8ef2054b22fa1ab1263adce665eb013f829d5");
    CHECK(hash_of(Algorithm::sha256_tree, std::string(3 << 20, '\xff')) ==
          "ad3ac9c399026724da3969e091d81be85f5b01c84cfdc9b1e04c54bf57d089d8");
    CHECK(parse_algorithm("SHA256-TREE-1mib") == Algorithm::sha256_tree);
}

TEST_CASE("algorithms have names") {
    for (const Algorithm algorithm : kAlgorithms) {
        CHECK(parse_algorithm(to_string(algorithm)) == algorithm);
        CHECK(hash_of(algorithm, "x").size() == hex_digits(algorithm));
    }
    CHECK_FALSE(parse_algorithm("sha1").has_value());
    CHECK_FALSE(parse_algorithm("").has_value());
    CHECK(algorithm_names() == "xxh3-128,md5,sha256,sha256-tree-1MiB,adler32");
}

TEST_CASE("a file read by several threads has the checksum of its bytes") {
    for (const std::size_t bytes : {0u, 1u, 1u << 20, (1u << 20) + 1, (7u << 20) + 5}) {
        const Scratch scratch(bytes);
        for (const Algorithm algorithm : kAlgorithms) {
            INFO(bytes << " bytes, " << to_string(algorithm));
            std::atomic<std::uint64_t> read{0};
            ChecksumJob job = scratch.job(algorithm);
            job.bytes_read = &read;
            const auto digits = checksum(job);
            REQUIRE(digits.ok());
            CHECK(*digits == hash_of(algorithm, scratch.content));
            CHECK(read == bytes);
        }
    }
}

TEST_CASE("a file has its checksum where no other thread may be started") {
    const Scratch scratch((7u << 20) + 5);
    const lambda::testing::FewThreads none(0);
    const auto digits = checksum(scratch.job(Algorithm::md5));
    REQUIRE(digits.ok());
    CHECK(*digits == hash_of(Algorithm::md5, scratch.content));
}

TEST_CASE("what is hole has the checksum of its zeros") {
    Scratch scratch(0);
    scratch.content.resize((7u << 20) + 5);
    REQUIRE(::ftruncate(scratch.file.get(), static_cast<off_t>(scratch.content.size())) == 0);
    for (const std::size_t at : {(2u << 20) + 100, (6u << 20) - 1}) {
        std::fill_n(scratch.content.begin() + static_cast<std::ptrdiff_t>(at), 5000, std::byte{7});
        REQUIRE(::pwrite(scratch.file.get(), scratch.content.data() + at, 5000,
                         static_cast<off_t>(at)) == 5000);
    }
    for (const Algorithm algorithm : kAlgorithms) {
        INFO(to_string(algorithm));
        ChecksumJob job = scratch.job(algorithm);
        CHECK(*checksum(job) == hash_of(algorithm, scratch.content));
        job.offset = 4097;
        job.length = 6u << 20;
        CHECK(*checksum(job) ==
              hash_of(algorithm, ByteView(scratch.content).subspan(4097, 6u << 20)));
    }
}

TEST_CASE("a hole of a tebibyte is not read") {
    const Scratch scratch(5000);
    constexpr std::uint64_t kSize = 1ull << 40;
    REQUIRE(::ftruncate(scratch.file.get(), kSize) == 0);
    transfer::FileDigest digest(kSize);
    std::vector<std::byte> leaf(scratch.content);
    leaf.resize(transfer::kLeafBytes);
    digest.add_leaf(0, transfer::leaf_digest(leaf));
    digest.add_zeros(transfer::kLeafBytes, kSize);
    while (digest.lags()) digest.advance(1 << 20);
    CHECK(*checksum(scratch.job(Algorithm::xxh3_128)) == to_hex(digest.finish()));
}

TEST_CASE("a range has the checksum of a file of its own") {
    const Scratch scratch((3u << 20) + 77);
    for (const Algorithm algorithm : kAlgorithms) {
        ChecksumJob job = scratch.job(algorithm);
        job.offset = 4097;
        job.length = 2u << 20;
        CHECK(*checksum(job) ==
              hash_of(algorithm, ByteView(scratch.content).subspan(4097, 2u << 20)));
        job.length.reset();
        CHECK(*checksum(job) == hash_of(algorithm, ByteView(scratch.content).subspan(4097)));
        job.length = 3u << 20;
        CHECK(checksum(job).error().fault == Fault::usage);
        job.length = UINT64_MAX;
        CHECK(checksum(job).error().fault == Fault::usage);
        job.offset = UINT64_MAX;
        CHECK(checksum(job).error().fault == Fault::usage);
    }
}

TEST_CASE("what cannot be read to its end has no checksum") {
    const Scratch scratch(5u << 20);
    for (const Algorithm algorithm : kAlgorithms) {
        ChecksumJob job = scratch.job(algorithm);
        std::atomic<int> asked{0};
        job.stopped = [&] { return ++asked > 2; };
        CHECK(checksum(job).error().fault == Fault::cut);
        // In mid-reading it becomes shorter, or is written to. (Asked by the readers' threads.)
        job.stopped = [&] { return ::ftruncate(job.fd, 3u << 20) != 0; };
        CHECK(checksum(job).error().fault == Fault::file);
        job.stopped = [&] {
            const timespec times[2] = {{.tv_sec = 7, .tv_nsec = 7}, {.tv_sec = 7, .tv_nsec = 7}};
            ::futimens(job.fd, times);
            return false;
        };
        const timespec now[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                                 {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
        ::futimens(job.fd, now);
        CHECK(checksum(job).error().fault == Fault::file);
        REQUIRE(::ftruncate(job.fd, 5u << 20) == 0);
        const io::Descriptor unreadable(
            ::open(("/proc/self/fd/" + std::to_string(job.fd)).c_str(), O_WRONLY | O_CLOEXEC));
        REQUIRE(unreadable);
        job.fd = unreadable.get();
        job.stopped = [] { return false; };
        const auto failed = checksum(job);
        REQUIRE_FALSE(failed.ok());
        CHECK(failed.error().fault == Fault::file);
        CHECK(failed.error().path == "it");
    }
    const io::Descriptor directory(::open("/", O_RDONLY | O_CLOEXEC));
    ChecksumJob job = scratch.job(Algorithm::md5);
    job.fd = directory.get();
    CHECK_FALSE(checksum(job).ok());
}
