#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <xxhash.h>

#include <cstring>
#include <random>
#include <set>

#include "common/io/cipher/packet_cipher.h"
#include "common/io/cipher/random.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::io;

namespace {

constexpr std::size_t kHeader = ports::kHeaderBytes;
constexpr std::uint64_t kPerAge = 1u << 22;

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937& random) {
    std::vector<std::byte> out(count);
    for (std::byte& b : out) b = static_cast<std::byte>(random());
    return out;
}

CipherSpec spec_of(int protection, int cipher) {
    CipherSpec spec;
    spec.protection = static_cast<std::uint8_t>(protection);
    spec.cipher = static_cast<std::uint8_t>(cipher);
    for (std::size_t i = 0; i < spec.secret.size(); ++i) spec.secret[i] = static_cast<std::byte>(i);
    spec.stripe = 7;
    return spec;
}

std::unique_ptr<ports::PacketCipher> make(const CipherSpec& spec) {
    return std::move(make_packet_cipher(spec).value());
}

std::vector<std::byte> seal(ports::PacketCipher& cipher, std::uint64_t number, ByteView header,
                            ByteView text, ByteView trailer = {}) {
    std::vector<std::byte> packet(kHeader + text.size() + trailer.size() + cipher.tag_bytes());
    std::copy(header.begin(), header.end(), packet.begin());
    const ports::SealJob job{number, packet.data(), text, trailer, false};
    cipher.seal({&job, 1});
    return packet;
}

struct Opened {
    bool ok;
    std::vector<std::byte> text;
};

Opened open(ports::PacketCipher& cipher, std::uint64_t number, ByteView packet) {
    const std::size_t overhead = kHeader + cipher.tag_bytes();
    std::vector<std::byte> text(packet.size() > overhead ? packet.size() - overhead : 0);
    ports::OpenJob job{number, packet, text.data(), false};
    cipher.open({&job, 1});
    return {job.ok, text};
}

// RFC 5869 §2.3 by hand.
std::vector<unsigned char> hkdf_expand(const CipherSpec& spec, std::uint64_t age) {
    std::vector<std::byte> info;
    ByteWriter writer(info);
    const std::string label = "lambda-ftp key";
    writer.bytes(std::as_bytes(std::span(label.data(), label.size())));
    writer.u16(spec.stripe);
    writer.u8(static_cast<std::uint8_t>(spec.direction));
    writer.u8(spec.cipher);
    writer.u8(spec.protection);
    writer.u64(age);
    std::vector<unsigned char> out;
    std::vector<unsigned char> last;
    for (unsigned char i = 1; i <= 2; ++i) {
        std::vector<unsigned char> input = last;
        const auto* raw = reinterpret_cast<const unsigned char*>(info.data());
        input.insert(input.end(), raw, raw + info.size());
        input.push_back(i);
        last.resize(32);
        unsigned length = 32;
        HMAC(EVP_sha256(), spec.secret.data(), 32, input.data(), input.size(), last.data(),
             &length);
        out.insert(out.end(), last.begin(), last.end());
    }
    return out;
}

}  // namespace

TEST_CASE("packet cipher: what is sealed opens, in every protection and size") {
    const int protection = GENERATE(0, 1, 2);
    const int cipher = GENERATE(0, 1);
    const auto seed = std::random_device{}();
    CAPTURE(protection, cipher, seed);
    std::mt19937 random(seed);
    auto sealer = make(spec_of(protection, cipher));
    auto opener = make(spec_of(protection, cipher));
    CHECK(sealer->tag_bytes() == (protection == 2 ? 8u : 16u));
    std::uint64_t number = 1;
    for (const std::size_t bytes : {0u, 1u, 15u, 16u, 17u, 1439u, 1440u, 8192u, 65459u}) {
        for (const std::size_t trailer_bytes : {0u, 16u}) {
            const auto header = random_bytes(kHeader, random);
            auto text = random_bytes(bytes, random);
            const auto trailer = random_bytes(trailer_bytes, random);
            const auto packet = seal(*sealer, number, header, text, trailer);
            CHECK(std::equal(header.begin(), header.end(), packet.begin()));
            const bool in_clear = std::equal(text.begin(), text.end(), packet.begin() + kHeader);
            if (bytes >= 15) CHECK(in_clear == (protection != 0));
            text.insert(text.end(), trailer.begin(), trailer.end());
            const auto opened = open(*opener, number, packet);
            CHECK(opened.ok);
            CHECK(opened.text == text);
            CHECK_FALSE(open(*opener, number + 1, packet).ok);
            ++number;
        }
    }
}

TEST_CASE("packet cipher: a text that stays where it is makes the same packet") {
    std::mt19937 random(5);
    auto sealer = make(spec_of(2, 0));
    REQUIRE(sealer->leaves_text());
    CHECK_FALSE(make(spec_of(0, 0))->leaves_text());
    CHECK_FALSE(make(spec_of(1, 0))->leaves_text());
    const std::size_t trailer_bytes = GENERATE(0u, 16u);
    const auto header = random_bytes(kHeader, random);
    const auto text = random_bytes(5000, random);
    const auto trailer = random_bytes(trailer_bytes, random);
    const auto whole = seal(*sealer, 7, header, text, trailer);
    std::vector<std::byte> packet(kHeader + trailer.size() + sealer->tag_bytes());
    std::copy(header.begin(), header.end(), packet.begin());
    const ports::SealJob job{7, packet.data(), text, trailer, true};
    sealer->seal({&job, 1});
    packet.insert(packet.begin() + kHeader, text.begin(), text.end());
    CHECK(packet == whole);
}

TEST_CASE("packet cipher: a bare packet is checked by its header and number alone, in clear only") {
    const int protection = GENERATE(0, 1, 2);
    CAPTURE(protection);
    std::mt19937 random(6);
    auto sealer = make(spec_of(protection, 0));
    auto opener = make(spec_of(protection, 0));
    const auto header = random_bytes(kHeader, random);
    const auto text = random_bytes(300, random);
    std::vector<std::byte> packet(kHeader + text.size() + sealer->tag_bytes());
    std::copy(header.begin(), header.end(), packet.begin());
    const ports::SealJob seal_job{
        .number = 9, .packet = packet.data(), .text = text, .trailer = {}, .bare = true};
    sealer->seal({&seal_job, 1});
    std::vector<std::byte> opened(text.size());
    const auto opens = [&](std::uint64_t number, ByteView bytes) {
        ports::OpenJob job{number, bytes, opened.data(), false, true};
        opener->open({&job, 1});
        return job.ok;
    };
    REQUIRE(opens(9, packet));
    CHECK(opened == text);
    CHECK_FALSE(opens(10, packet));
    for (std::size_t i = 0; i < packet.size(); ++i) {
        auto damaged = packet;
        damaged[i] ^= std::byte{4};
        const bool in_text = i >= kHeader && i < kHeader + text.size();
        CHECK(opens(9, damaged) == (protection == 2 && in_text));
    }
    if (protection == 2) CHECK_FALSE(open(*opener, 9, packet).ok);  // as one that covers its text
}

TEST_CASE("packet cipher: a flipped bit in any byte is refused, and so is any cut") {
    const int protection = GENERATE(0, 1, 2);
    const int cipher = GENERATE(0, 1);
    CAPTURE(protection, cipher);
    std::mt19937 random(1);
    auto sealer = make(spec_of(protection, cipher));
    auto opener = make(spec_of(protection, cipher));
    const auto text = random_bytes(300, random);
    const auto packet = seal(*sealer, 42, random_bytes(kHeader, random), text);
    for (std::size_t i = 0; i < packet.size(); ++i) {
        auto damaged = packet;
        damaged[i] ^= static_cast<std::byte>(1u << i % 8);
        CHECK_FALSE(open(*opener, 42, damaged).ok);
    }
    for (std::size_t length = 0; length < packet.size(); ++length) {
        CHECK_FALSE(open(*opener, 42, ByteView(packet).first(length)).ok);
    }
    // A refusal leaves no trace.
    CHECK(open(*opener, 42, packet).text == text);
}

TEST_CASE("packet cipher: another stripe, direction, cipher, protection or secret opens nothing") {
    std::mt19937 random(2);
    const CipherSpec spec = spec_of(0, 0);
    const auto packet =
        seal(*make(spec), 5, random_bytes(kHeader, random), random_bytes(100, random));
    REQUIRE(open(*make(spec), 5, packet).ok);
    CipherSpec other = spec;
    other.stripe = 8;
    CHECK_FALSE(open(*make(other), 5, packet).ok);
    other = spec;
    other.direction = FlowDirection::reverse;
    CHECK_FALSE(open(*make(other), 5, packet).ok);
    other = spec;
    other.cipher = 1;
    CHECK_FALSE(open(*make(other), 5, packet).ok);
    other = spec;
    other.protection = 1;
    CHECK_FALSE(open(*make(other), 5, packet).ok);
    other = spec;
    other.secret[31] ^= std::byte{1};
    CHECK_FALSE(open(*make(other), 5, packet).ok);
}

TEST_CASE("packet cipher: keys are renewed at a boundary, and packets may be reordered across it") {
    const int protection = GENERATE(0, 1, 2);
    const int cipher = GENERATE(0, 1);
    CAPTURE(protection, cipher);
    std::mt19937 random(3);
    auto sealer = make(spec_of(protection, cipher));
    auto opener = make(spec_of(protection, cipher));
    const auto header = random_bytes(kHeader, random);
    // The second boundary is where the number on the wire wraps.
    for (const std::uint64_t boundary : {kPerAge, std::uint64_t{1} << 32, 1000 * kPerAge}) {
        std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> packets;
        for (std::uint64_t number = boundary - 20; number < boundary + 20; ++number) {
            const auto text = random_bytes(64, random);
            packets.emplace_back(number, seal(*sealer, number, header, text));
            CHECK(open(*opener, number, packets.back().second).text == text);
        }
        std::shuffle(packets.begin(), packets.end(), random);
        for (const auto& [number, packet] : packets) CHECK(open(*opener, number, packet).ok);
        // The same number one age away is another key.
        CHECK_FALSE(open(*opener, packets[0].first + kPerAge, packets[0].second).ok);
    }
}

// By EVP, whatever seals and opens here: a peer may have another.
TEST_CASE("packet cipher: keys and nonces are those of the protocol, and the cipher is AES-GCM") {
    const std::uint64_t age = GENERATE(0u, 1u, 1024u);
    const bool secret = GENERATE(true, false);
    const std::size_t bytes =
        GENERATE(0u, 1u, 15u, 16u, 17u, 255u, 256u, 257u, 500u, 1440u, 65443u);
    const std::size_t trailer_bytes = GENERATE(0u, 16u);
    CAPTURE(age, secret, bytes, trailer_bytes);
    const std::uint64_t number = age * kPerAge + 0x1234;
    std::mt19937 random(4);
    const auto header = random_bytes(kHeader, random);
    auto text = random_bytes(bytes, random);
    const auto trailer = random_bytes(trailer_bytes, random);

    const CipherSpec spec = spec_of(secret ? 0 : 1, 0);
    auto packet = seal(*make(spec), number, header, text, trailer);
    text.insert(text.end(), trailer.begin(), trailer.end());
    const auto derived = hkdf_expand(spec, age);
    std::array<unsigned char, 12> nonce;
    std::copy_n(derived.begin() + 16, 12, nonce.begin());
    for (unsigned i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(number >> 8 * i);
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nullptr, derived.data(), nonce.data());
    int count = 0;
    auto* raw = reinterpret_cast<unsigned char*>(packet.data());
    std::vector<unsigned char> plain(text.size() + 16);
    const std::size_t associated = kHeader + (secret ? 0 : text.size());
    EVP_DecryptUpdate(context, nullptr, &count, raw, static_cast<int>(associated));
    if (secret)
        EVP_DecryptUpdate(context, plain.data(), &count, raw + kHeader,
                          static_cast<int>(text.size()));
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, raw + kHeader + text.size());
    CHECK(EVP_DecryptFinal_ex(context, plain.data() + text.size(), &count) == 1);
    EVP_CIPHER_CTX_free(context);
    const void* seen = secret ? plain.data() : raw + kHeader;
    CHECK((text.empty() || std::memcmp(seen, text.data(), text.size()) == 0));
}

TEST_CASE("packet cipher: the checksum in clear is that of the protocol") {
    const std::uint64_t age = GENERATE(0u, 1u, 1024u);
    const std::uint64_t number = age * kPerAge + 0x1234;
    std::mt19937 random(4);
    const auto header = random_bytes(kHeader, random);
    const auto text = random_bytes(500, random);
    const CipherSpec clear = spec_of(2, 0);
    const auto checked = seal(*make(clear), number, header, text);
    std::vector<std::byte> covered(checked.begin(), checked.end() - 8);
    ByteWriter(covered).u64(number);
    const auto key = hkdf_expand(clear, age);
    const std::uint64_t seed = load_u64(reinterpret_cast<const std::byte*>(key.data()));
    CHECK(load_u64(checked.data() + checked.size() - 8) ==
          XXH3_64bits_withSeed(covered.data(), covered.size(), seed));
}

TEST_CASE("packet cipher: no two numbers seal an empty text alike") {
    auto sealer = make(spec_of(0, GENERATE(0, 1)));
    const std::array<std::byte, kHeader> header{};
    std::set<std::vector<std::byte>> seen;
    for (std::uint64_t age = 0; age < 8; ++age) {
        for (std::uint64_t low = 0; low < 256; ++low) {
            CHECK(seen.insert(seal(*sealer, age * kPerAge + low, header, {})).second);
        }
    }
}

TEST_CASE("packet cipher: the fastest is one of the two, and random bytes differ") {
    CHECK(fastest_cipher() <= 1);
    std::array<std::byte, 32> first{}, second{};
    fill_random(first);
    fill_random(second);
    CHECK(first != second);
}
