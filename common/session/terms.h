// The terms of a transfer: what the client offers with XFER and the server agrees to in its 150
// reply (docs/protocol.md §3). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/base/time.h"
#include "common/base/units.h"
#include "common/session/range.h"

namespace lambda::session {

enum class Direction { put, get };  // as the client sees it
// RFC 4217's words: private = encrypted and authenticated, safe = authenticated, clear = checked.
enum class Protection : std::uint8_t { private_ = 0, safe = 1, clear = 2 };
enum class Cipher : std::uint8_t { aes_128_gcm = 0, chacha20_poly1305 = 1 };

using Nonce = std::array<std::byte, 16>;

struct Terms {
    Direction direction = Direction::put;
    std::uint16_t stripes = 4;      // 1 to kMaxStripes
    std::uint32_t payload = 65475;  // the most file bytes in one packet; the path may allow less
    Duration syn = std::chrono::milliseconds(10);
    BitRate initial_rate{100e6};          // all stripes together
    BitRate known_rate{0};                // that the path carried lately; 0: nothing is known
    BitRate highest_rate{0};              // payload of the whole transfer; 0: no limit
    std::uint64_t window = 0;             // the most bytes in flight, all stripes; 0: no limit
    std::uint32_t block = 1 << 20;        // a multiple of 1 MiB
    std::uint64_t memory = 176ull << 20;  // the receiver's ring, bytes
    Protection protection = Protection::private_;
    Cipher cipher = Cipher::aes_128_gcm;
    std::string congestion = "sabul";  // a law's name, perhaps with parameters: "mimd:T=400ms"
    bool read_back = false;  // the receiver reads from its disk again what it wrote, and compares
    bool receipt = false;    // both ends keep the account that a receipt is made of
    bool sha256 = false;     // files have a digest that holds against forgery, too

    bool operator==(const Terms&) const = default;
};

constexpr std::uint16_t kMaxStripes = 64;
constexpr Duration kLeastSyn = std::chrono::milliseconds(1);
constexpr Duration kLongestSyn = std::chrono::seconds(1);
// 10 Tbit/s: far above any machine, far below where a double loses whole bits.
constexpr std::uint64_t kMaxRate = 10'000'000'000'000;
constexpr std::uint32_t kMinPayload = 512;
constexpr std::uint64_t kMinRingBlocks = 4;
constexpr std::uint64_t kMinMemory = kMinRingBlocks * MiB;  // a ring of the smallest blocks
constexpr std::uint32_t kMaxPayload = 65475;  // 65,535 - IPv4 20 - UDP 8 - header 16 - tag 16

const char* to_string(Direction direction);
const char* to_string(Protection protection);
const char* to_string(Cipher cipher);
// Whether it has the form NAME or NAME:PARAMETER=VALUE,... with a name of lower-case letters,
// digits and hyphens; whether there is such a law is the registry's to say.
bool is_law(std::string_view text);

// What the client sends: the terms it wants, its half of the context, and where the files go.
struct Offer {
    Terms terms;
    Nonce nonce{};
    bool several = false;  // put: more than one source, so the target is a directory
    std::string
        replaces;  // the token of the client's transfer that this one goes on with, or empty
    std::optional<RangeOffer> range{};  // of one file, in place of all of it
    std::string path;  // put: the target, raw bytes; get: empty (names come as WANT records)
};

// What the server answers.
struct Agreement {
    Terms terms;
    Nonce nonce{};
    std::uint64_t transfer = 0;  // the server's counter; never the same twice for one server key
    std::string token;           // 32 hex digits; what JOIN presents
    std::vector<std::uint16_t> ports;  // UDP; stripe i uses ports[i % size]
    bool into_directory = false;       // put: names are appended to the target
    bool range = false;                // the offered range was understood
};

class Facts;
void add_terms(Facts& facts, const Terms& terms);
Result<Terms> parse_terms(const Facts& facts);

// "direction=put;stripes=4;...; path": facts as in RFC 3659 §7.2, unknown ones ignored when parsed.
std::string format_offer(const Offer& offer);
Result<Offer> parse_offer(std::string_view argument);
std::string format_agreement(const Agreement& agreement);
// Refuses a ring of fewer than kMinRingBlocks, too.
Result<Agreement> parse_agreement(std::string_view text);

// What one server allows. The agreed terms are the lesser of both wherever there is an order.
struct Limits {
    std::uint16_t stripes = kMaxStripes;
    BitRate highest_rate{0};  // 0: no limit
    std::uint64_t memory = 176ull << 20;
    std::vector<std::string> laws;  // names of congestion laws that this build knows
    bool allow_safe = true;
    bool allow_clear = true;
};
// Fault::unsupported (504) for an unknown law, naming those there are, and for a protection that is
// not allowed. A block shrinks until kMinRingBlocks of them fit into the memory.
Result<Terms> agree(const Terms& offered, const Limits& limits);

}  // namespace lambda::session
