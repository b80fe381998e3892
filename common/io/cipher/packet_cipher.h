// Packet ciphers as the engine's port: their keys, their maker, and which of them is the fastest.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "common/base/result.h"
#include "common/ports/packet_cipher.h"

namespace lambda::io {

enum class FlowDirection : std::uint8_t { data = 0, reverse = 1 };
struct CipherSpec {
    std::uint8_t protection = 0;  // session::Protection
    std::uint8_t cipher = 0;      // session::Cipher
    std::array<std::byte, 32> secret{};
    std::uint16_t stripe = 0;
    FlowDirection direction = FlowDirection::data;
};
// Keys: HKDF-Expand-SHA256(secret, "lambda-ftp key" ‖ stripe ‖ direction ‖ cipher ‖ protection ‖
// age), docs/protocol.md §5.
Result<std::unique_ptr<ports::PacketCipher>> make_packet_cipher(const CipherSpec& spec);

// The faster of AES-128-GCM and ChaCha20-Poly1305 here, by a measurement of a few milliseconds.
std::uint8_t fastest_cipher();

}  // namespace lambda::io
