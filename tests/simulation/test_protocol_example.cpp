// The worked example of docs/protocol.md §10, byte by byte: the document and the code say the same.
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/hex.h"
#include "common/io/cipher/packet_cipher.h"
#include "common/sabul/feedback.h"
#include "common/sabul/packet.h"
#include "common/transfer/record.h"
#include "tests/support/catch.h"

using namespace lambda;

namespace {

// The section without any blanks and line ends.
std::string example() {
    std::ifstream file(LAMBDA_SOURCE_DIR "/docs/protocol.md");
    std::stringstream whole;
    whole << file.rdbuf();
    std::string text = whole.str();
    text.erase(0, text.find("## 10."));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
}

ByteView hello() {
    return std::as_bytes(std::span("hello", 5));
}

transfer::Digest file_digest() {
    transfer::FileDigest digest(5);
    digest.add_leaf(0, transfer::leaf_digest(hello()));
    return digest.finish();
}

}  // namespace

TEST_CASE("the packets of the protocol's example") {
    const std::string document = example();
    REQUIRE(document.size() > 1000);
    for (const std::uint8_t protection : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}}) {
        io::CipherSpec spec{.protection = protection, .cipher = 0, .secret = {}, .stripe = 1};
        for (std::size_t i = 0; i < spec.secret.size(); ++i)
            spec.secret[i] = static_cast<std::byte>(i);
        auto cipher = io::make_packet_cipher(spec);
        REQUIRE(cipher.ok());
        std::array<std::byte, 128> packet{};
        sabul::encode({.type = sabul::PacketType::data,
                       .flags = sabul::kLeafEnd,
                       .flow = 1,
                       .number = 5,
                       .place = 0x100000},
                      packet.data());
        const transfer::Digest digest = transfer::leaf_digest(hello());
        const ports::SealJob job{5, packet.data(), hello(), digest, false};
        (*cipher)->seal({&job, 1});
        const std::size_t bytes = sabul::kHeaderBytes + 5 + 16 + (*cipher)->tag_bytes();
        CHECK(document.find(to_hex(ByteView(packet).first(bytes))) != std::string::npos);
    }
}

TEST_CASE("the frames and records of the protocol's example") {
    const std::string document = example();
    std::vector<std::byte> out;
    const auto expect = [&](const char* what) {
        INFO(what << ": " << to_hex(out));
        CHECK(document.find(to_hex(out)) != std::string::npos);
        out.clear();
    };
    sabul::append_nak(out, {{2, 5}});
    expect("NAK");
    sabul::Ack ack;
    ack.cumulative = ack.largest = 6;
    ack.hold_us = 120;
    ack.sample_count = 1;
    ack.samples[0] = {0, 7000};
    ack.packets = 1;
    ack.bytes = 5;
    ack.credit = 175;
    ack.buffer = 4194304;
    sabul::append_ack(out, ack);
    expect("ACK");
    const transfer::Record records[] = {
        transfer::FileRecord{
            0, 0x100000, 5, 1234567890123456789, 0640, 4711, {}, "a.txt", {{0, 5}}},
        transfer::CloseRecord{0, 5, 1234567890123456789, file_digest()}, transfer::FinishRecord{1},
        transfer::DoneRecord{0, file_digest()}, transfer::SetDoneRecord{1, 0}};
    for (const transfer::Record& record : records) {
        transfer::append_record(out, record);
        expect("record");
    }
}
