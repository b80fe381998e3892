// Bounded big-endian reading and writing. A reader never reads past its end: it turns `ok()` false
// and gives zeros from then on, so that a parser checks once, at its end.
// A varint has up to 62 bits in 1, 2, 4 or 8 bytes (RFC 9000 §16), here as few as do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lambda {

using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

class ByteReader {
  public:
    explicit ByteReader(ByteView bytes) : rest_(bytes) {}

    bool ok() const { return ok_; }
    std::size_t left() const { return rest_.size(); }
    // All was read, and nothing more than there was.
    bool finished() const { return ok_ && rest_.empty(); }

    std::uint8_t u8() { return static_cast<std::uint8_t>(unsigned_of(1)); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(unsigned_of(2)); }
    std::uint32_t u24() { return static_cast<std::uint32_t>(unsigned_of(3)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(unsigned_of(4)); }
    std::uint64_t u64() { return unsigned_of(8); }
    std::int64_t i64() { return static_cast<std::int64_t>(unsigned_of(8)); }
    std::uint64_t varint() {
        const int power = rest_.empty() ? 0 : std::to_integer<int>(rest_[0]) >> 6;
        const std::size_t count = std::size_t{1} << power;
        const std::uint64_t value = unsigned_of(count) & ~(std::uint64_t{3} << (8 * count - 2));
        if (power > 0 && value >> (4 * count - 2) == 0) fail();
        return value;
    }

    ByteView bytes(std::size_t count) {
        if (count > rest_.size()) {
            fail();
            return {};
        }
        const ByteView taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }
    // A length in 16 bits, then so many raw bytes.
    std::string string16() {
        const ByteView raw = bytes(u16());
        return {reinterpret_cast<const char*>(raw.data()), raw.size()};
    }

  private:
    void fail() {
        ok_ = false;
        rest_ = {};
    }
    std::uint64_t unsigned_of(std::size_t count) {
        if (count > rest_.size()) {
            fail();
            return 0;
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            value = value << 8 | std::to_integer<std::uint64_t>(rest_[i]);
        }
        rest_ = rest_.subspan(count);
        return value;
    }

    ByteView rest_;
    bool ok_ = true;
};

// Appends to a vector that the caller owns and reuses.
class ByteWriter {
  public:
    explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

    void u8(std::uint8_t value) { put(value, 1); }
    void u16(std::uint16_t value) { put(value, 2); }
    void u24(std::uint32_t value) { put(value, 3); }
    void u32(std::uint32_t value) { put(value, 4); }
    void u64(std::uint64_t value) { put(value, 8); }
    void i64(std::int64_t value) { put(static_cast<std::uint64_t>(value), 8); }
    void varint(std::uint64_t value) {
        int power = 0;
        while (power < 3 && value >> ((8 << power) - 2) != 0) ++power;
        const int count = 1 << power;
        put(value | static_cast<std::uint64_t>(power) << (8 * count - 2), count);
    }
    void bytes(ByteView raw) { out_.insert(out_.end(), raw.begin(), raw.end()); }
    // Of a longer one, which no reader takes, its beginning: what follows stays readable.
    void string16(std::string_view text) {
        text = text.substr(0, 0xffff);
        u16(static_cast<std::uint16_t>(text.size()));
        bytes(std::as_bytes(std::span(text.data(), text.size())));
    }

  private:
    void put(std::uint64_t value, int count) {
        for (int shift = (count - 1) * 8; shift >= 0; shift -= 8) {
            out_.push_back(static_cast<std::byte>(value >> shift));
        }
    }

    std::vector<std::byte>& out_;
};

inline void store_u16(std::byte* to, std::uint16_t value) {
    to[0] = static_cast<std::byte>(value >> 8);
    to[1] = static_cast<std::byte>(value);
}
inline void store_u32(std::byte* to, std::uint32_t value) {
    store_u16(to, static_cast<std::uint16_t>(value >> 16));
    store_u16(to + 2, static_cast<std::uint16_t>(value));
}
inline void store_u64(std::byte* to, std::uint64_t value) {
    store_u32(to, static_cast<std::uint32_t>(value >> 32));
    store_u32(to + 4, static_cast<std::uint32_t>(value));
}
inline std::uint16_t load_u16(const std::byte* from) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) << 8 |
                                      std::to_integer<unsigned>(from[1]));
}
inline std::uint32_t load_u32(const std::byte* from) {
    return static_cast<std::uint32_t>(load_u16(from)) << 16 | load_u16(from + 2);
}
inline std::uint64_t load_u64(const std::byte* from) {
    return static_cast<std::uint64_t>(load_u32(from)) << 32 | load_u32(from + 4);
}

}  // namespace lambda
