#include "common/base/interval_set.h"

#include <bitset>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/random.h"

using namespace lambda;

namespace {

constexpr std::uint64_t kUniverse = 96;

// The same set as a bit for each integer.
class Model {
  public:
    std::uint64_t insert(Range range) { return change(range, true); }
    std::uint64_t erase(Range range) { return change(range, false); }
    std::optional<Range> first_within(Range range) const { return first(range, true); }
    std::optional<Range> first_gap(Range range) const { return first(range, false); }
    std::vector<Range> ranges() const {
        std::vector<Range> all;
        for (std::uint64_t i = 0; i < kUniverse; ++i) {
            if (!bits_[i]) continue;
            if (i == 0 || !bits_[i - 1]) all.push_back({i, i});
            all.back().last = i + 1;
        }
        return all;
    }
    std::uint64_t count() const { return bits_.count(); }

  private:
    std::optional<Range> first(Range range, bool what) const {
        std::uint64_t first = range.first;
        while (first < range.last && bits_[first] != what) ++first;
        if (first >= range.last) return std::nullopt;
        std::uint64_t last = first;
        while (last < range.last && bits_[last] == what) ++last;
        return Range{first, last};
    }
    std::uint64_t change(Range range, bool to) {
        std::uint64_t changed = 0;
        for (std::uint64_t i = range.first; i < range.last; ++i) {
            changed += bits_[i] != to ? 1 : 0;
            bits_[i] = to;
        }
        return changed;
    }
    std::bitset<kUniverse> bits_;
};

}  // namespace

TEST_CASE("an interval set does what a set of bits does") {
    const std::uint64_t seed = test::random_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto upto = [&random](std::uint64_t most) { return random() % (most + 1); };

    for (int round = 0; round < 200; ++round) {
        IntervalSet set;
        Model model;
        // Short ranges make many of them, long ones merge and split many at once.
        const std::uint64_t longest = round % 2 == 0 ? 3 : 40;
        for (int step = 0; step < 150; ++step) {
            const std::uint64_t first = upto(kUniverse);
            const Range range{first, std::min(kUniverse, first + upto(longest))};
            CAPTURE(round, step, range.first, range.last);
            switch (upto(3)) {
                case 0:
                case 1:
                    REQUIRE(set.insert(range) == model.insert(range));
                    break;
                case 2:
                    REQUIRE(set.erase(range) == model.erase(range));
                    break;
                default: {
                    const std::uint64_t limit = upto(5);
                    const auto before = model.ranges();
                    const auto taken = set.pop_front(limit);
                    REQUIRE(taken.has_value() == (limit > 0 && !before.empty()));
                    if (!taken) break;
                    REQUIRE(taken->first == before.front().first);
                    REQUIRE(taken->length() == std::min(limit, before.front().length()));
                    model.erase(*taken);
                }
            }
            REQUIRE(set.ranges() == model.ranges());
            REQUIRE(set.count() == model.count());
            REQUIRE(set.empty() == (model.count() == 0));
            const std::uint64_t from = upto(kUniverse);
            const Range asked{from, std::min(kUniverse, from + upto(longest))};
            REQUIRE(set.first_within(asked) == model.first_within(asked));
            REQUIRE(set.intersects(asked) == model.first_within(asked).has_value());
            REQUIRE(set.first_gap(asked) == model.first_gap(asked));
            REQUIRE(set.contains(asked) == !model.first_gap(asked).has_value());
        }
    }
}

TEST_CASE("an interval set reaches to the last integer") {
    constexpr std::uint64_t kEnd = ~std::uint64_t{0};
    IntervalSet set;
    CHECK(set.insert({kEnd - 4, kEnd}) == 4);
    CHECK(set.insert({kEnd - 6, kEnd - 4}) == 2);
    CHECK(set.ranges() == std::vector<Range>{{kEnd - 6, kEnd}});
    CHECK(set.contains({kEnd - 1, kEnd}));
    CHECK(set.first_gap({0, kEnd}) == Range{0, kEnd - 6});
    CHECK(set.erase({0, kEnd}) == 6);
    CHECK(set.empty());
}

TEST_CASE("a backwards or empty range changes nothing") {
    IntervalSet set;
    set.insert({10, 20});
    for (const Range range : {Range{15, 15}, Range{18, 12}}) {
        CHECK(set.insert(range) == 0);
        CHECK(set.erase(range) == 0);
        CHECK_FALSE(set.intersects(range));
        CHECK_FALSE(set.first_within(range));
        CHECK(set.contains(range));
    }
    CHECK(set.ranges() == std::vector<Range>{{10, 20}});
}
