#include "common/base/cursor.h"

#include <array>
#include <random>

#include "tests/support/catch.h"
#include "tests/support/random.h"

using namespace lambda;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
    std::vector<std::byte> bytes;
    for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

}  // namespace

TEST_CASE("integers are big-endian") {
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.u8(0x01);
    writer.u16(0x0203);
    writer.u24(0x040506);
    writer.u32(0x0708090a);
    writer.u64(0x0b0c0d0e0f101112);
    writer.i64(-2);
    writer.string16("hi");
    CHECK(out ==
          bytes_of({1,  2,  3,  4,    5,    6,    7,    8,    9,    10,   11,   12, 13, 14,  15,
                    16, 17, 18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0,  2,  'h', 'i'}));

    ByteReader reader(out);
    CHECK(reader.u8() == 0x01);
    CHECK(reader.u16() == 0x0203);
    CHECK(reader.u24() == 0x040506);
    CHECK(reader.u32() == 0x0708090a);
    CHECK(reader.u64() == 0x0b0c0d0e0f101112);
    CHECK(reader.i64() == -2);
    CHECK_FALSE(reader.finished());
    CHECK(reader.string16() == "hi");
    CHECK(reader.finished());
}

TEST_CASE("a reader past its end gives zeros and stays failed") {
    const auto three = bytes_of({1, 2, 3});
    ByteReader reader(three);
    CHECK(reader.u32() == 0);
    CHECK_FALSE(reader.ok());
    CHECK(reader.left() == 0);
    CHECK(reader.u8() == 0);  // what was left is not given out after a failure
    CHECK(reader.bytes(1).empty());
    CHECK_FALSE(reader.finished());
}

TEST_CASE("a string longer than what is left is refused") {
    const auto cut = bytes_of({0, 5, 'a', 'b'});
    ByteReader reader(cut);
    CHECK(reader.string16().empty());
    CHECK_FALSE(reader.ok());

    const auto huge = bytes_of({1});
    ByteReader other(huge);
    CHECK(other.bytes(~std::size_t{0}).empty());
    CHECK_FALSE(other.ok());
}

TEST_CASE("store and load agree with the cursor") {
    const std::uint64_t seed = test::random_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t value = random();
        std::array<std::byte, 14> stored{};
        store_u64(stored.data(), value);
        store_u32(stored.data() + 8, static_cast<std::uint32_t>(value));
        store_u16(stored.data() + 12, static_cast<std::uint16_t>(value));
        ByteReader reader(stored);
        REQUIRE(reader.u64() == value);
        REQUIRE(reader.u32() == static_cast<std::uint32_t>(value));
        REQUIRE(reader.u16() == static_cast<std::uint16_t>(value));
        REQUIRE(load_u64(stored.data()) == value);
        REQUIRE(load_u32(stored.data() + 8) == static_cast<std::uint32_t>(value));
        REQUIRE(load_u16(stored.data() + 12) == static_cast<std::uint16_t>(value));
    }
}

TEST_CASE("a varint has as few bytes as its value needs, and no other form is taken") {
    for (const auto& [value, bytes] :
         std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 1},
                                                            {63, 1},
                                                            {64, 2},
                                                            {16383, 2},
                                                            {16384, 4},
                                                            {(1u << 30) - 1, 4},
                                                            {1u << 30, 8},
                                                            {(std::uint64_t{1} << 62) - 1, 8}}) {
        std::vector<std::byte> out;
        ByteWriter(out).varint(value);
        CHECK(out.size() == bytes);
        ByteReader reader(out);
        CHECK(reader.varint() == value);
        CHECK(reader.finished());
        ByteReader cut(ByteView(out).first(bytes - 1));
        cut.varint();
        CHECK_FALSE(cut.ok());
    }
    for (const auto& longer : {bytes_of({0x40, 63}), bytes_of({0x80, 0, 0x3f, 0xff}),
                               bytes_of({0xc0, 0, 0, 0, 0x3f, 0xff, 0xff, 0xff})}) {
        ByteReader reader(longer);
        reader.varint();
        CHECK_FALSE(reader.ok());
    }
}
