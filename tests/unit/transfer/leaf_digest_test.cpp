// A leaf's digest is the same however its bytes came.
#include <algorithm>
#include <random>
#include <vector>

#include "common/transfer/digest.h"
#include "tests/support/catch.h"
#include "tests/support/random.h"

using namespace lambda;
using namespace lambda::transfer;

TEST_CASE("leaf digest: in steps, over again, of one leaf after the other") {
    const std::uint64_t seed = test::random_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::byte> block(2 * kLeafBytes);
    std::generate(block.begin(), block.end(), [&] { return std::byte(random()); });
    LeafDigest digest;
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t first = random() % 2 == 0 ? 0 : kLeafBytes;
        const auto last = static_cast<std::uint32_t>(first + 1 + random() % kLeafBytes);
        for (std::uint32_t at = digest.reached(first); at < last && random() % 8 != 0;) {
            at = std::min<std::uint32_t>(last, at + random() % (256 * 1024));
            digest.extend(block, first, at);
            CHECK(digest.reached(first) == at);
            if (random() % 16 == 0) digest.forget();
            at = digest.reached(first);
        }
        if (random() % 4 == 0) continue;  // given up
        CHECK(digest.finish(block, first, last) ==
              leaf_digest(ByteView(block).subspan(first, last - first)));
    }
}

TEST_CASE("leaf digest: more than the leaf turned out to have is not in its digest") {
    const std::vector<std::byte> block(kLeafBytes, std::byte{7});
    LeafDigest digest;
    digest.extend(block, 0, 200'000);
    CHECK(digest.finish(block, 0, 100'000) == leaf_digest(ByteView(block).first(100'000)));
}
