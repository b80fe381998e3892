// The types of the set stream's records as numbers, docs/protocol.md §7, and their header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lambda::transfer {

enum class RecordType : std::uint8_t {
    file = 0x10,
    void_ = 0x11,
    close = 0x12,
    fail = 0x13,
    finish = 0x14,
    drop = 0x15,
    leaf = 0x16,
    directory = 0x17,
    leave = 0x18,
    link = 0x19,
    same = 0x1a,
    skip = 0x1b,
    frontier = 0x1c,
    changed = 0x1d,
    want = 0x20,
    want_end = 0x21,
    done = 0x22,
    refuse = 0x23,
    set_done = 0x24,
    again = 0x25,
    nothing = 0x26,
    have = 0x27,
    compared = 0x28,
    walk = 0x29,
    sync = 0x2a,
    offer = 0x2b,
    offered = 0x2c,
    digest = 0x2d,
    holds = 0x2e,
    verdicts = 0x2f,
    settled = 0x30,
    gone = 0x31,
    missed = 0x32,
    strong = 0x34,
};

// What DIGEST says where the file's SHA-256 comes behind the other digest.
constexpr std::uint8_t kBothDigests = 3;

// Type and length before each body.
constexpr std::size_t kRecordHeader = 4;
// Of what is only for people to read.
constexpr std::size_t kMaxTextBytes = 2048;

}  // namespace lambda::transfer
