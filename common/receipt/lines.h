// The lines of a receipt (docs/integrity.md): one JSON object each, spelt in one way only, so that
// both ends of a transfer write the same bytes, and a changed byte is seen. Pure.
//
//   {"receipt":"lambda-ftp 1"}
//   {"path":"a.bin","size":5,"mtime":"2009-02-13T23:31:30.123456789Z","xxh3-128":"..."}
//   {"statement":"transferred", ...}           about all lines above, by their SHA-256
//   {"signature":"...","public_key":"..."}     of signed_text(statement)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/receipt/tally.h"
#include "common/session/terms.h"
#include "common/transfer/digest.h"
#include "common/transfer/sha256.h"

namespace lambda::receipt {

inline constexpr std::string_view kFirstLine = R"({"receipt":"lambda-ftp 1"})";
// A name of 4,096 bytes, of which each may take six, and the rest of the line.
constexpr std::size_t kMostLineBytes = 32 * 1024;

struct FileLine {
    std::string path;  // as the set stream calls it: relative, where it lands is the target's
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    bool adopted = false;                      // stood there already, and did not move
    std::optional<transfer::Digest> xxh3{};    // none: nobody read it
    std::optional<transfer::Sha256> sha256{};  // the tree's
    bool operator==(const FileLine&) const = default;
};

// Of a get: what the client asked for.
struct WantedLine {
    std::string path;
    bool contents = false, pattern = false;
    bool operator==(const WantedLine&) const = default;
};

// What the server says of the lines above.
struct Statement {
    session::Direction direction = session::Direction::put;
    std::string server;           // how the client calls it: "host:port"
    std::string account;          // there
    std::string place;            // put: the target, below the account's root
    std::string destination;      // get: the target at the client, by its own word
    bool into_directory = false;  // the paths are below the target; else it stands for the first
                                  // component of each
    std::uint64_t transfer = 0;   // the server's number
    Tally tally{};
    std::int64_t time_ns = 0;  // when it was signed, by the server's clock
    std::string key;           // the fingerprint of the one that signs
};

struct Seal {
    std::vector<std::byte> signature, public_key;  // the key as SubjectPublicKeyInfo, DER
    bool operator==(const Seal&) const = default;
};

// Without line ends.
std::string to_line(const FileLine& line);
std::string to_line(const WantedLine& line);
std::string to_line(const Statement& statement);
std::string to_line(const Seal& seal);

using Line = std::variant<FileLine, WantedLine, Statement, Seal>;
// Nothing for what to_line() does not write to the byte.
std::optional<Line> parse_line(std::string_view line);

// What is signed of a statement's line: no text that the key signs for anything else begins so.
std::string signed_text(std::string_view statement_line);

}  // namespace lambda::receipt
