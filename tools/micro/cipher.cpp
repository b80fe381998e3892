// Sealing, opening and digesting, by the payload of a packet; a burst is of as many packets as
// 65,507 bytes hold, built by Burst as the sender does.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "common/engine/send_stripe.h"
#include "common/io/cipher/packet_cipher.h"
#include "common/session/terms.h"
#include "common/transfer/digest.h"

namespace {

using namespace lambda;
using engine::Burst;
using session::Cipher;
using session::Protection;

enum Way : std::int64_t { kAes, kChaCha, kClear };

std::unique_ptr<ports::PacketCipher> cipher_of(std::int64_t way) {
    io::CipherSpec spec;
    spec.protection =
        static_cast<std::uint8_t>(way == kClear ? Protection::clear : Protection::private_);
    spec.cipher =
        static_cast<std::uint8_t>(way == kChaCha ? Cipher::chacha20_poly1305 : Cipher::aes_128_gcm);
    return *io::make_packet_cipher(spec);
}

void ways(benchmark::internal::Benchmark* made) {
    made->ArgNames({"cipher", "payload"});
    for (const std::int64_t way : {kAes, kChaCha, kClear})
        for (const std::int64_t payload : {1440, 8944, 65475}) made->Args({way, payload});
}

// A burst of packets from a block of 1 MiB, the next part of it each time, sealed.
struct Sealed {
    explicit Sealed(const benchmark::State& state)
        : cipher(cipher_of(state.range(0))),
          payload(static_cast<std::size_t>(state.range(1))),
          wire(payload + ports::kHeaderBytes + cipher->tag_bytes()),
          burst(cipher->leaves_text(), room.data()) {}

    void seal() {
        burst.clear();
        while (burst.packets() < Burst::kMaxPackets && burst.takes(wire)) {
            if (at + payload > block.size()) at = 0;
            burst.add(
                {.number = number++, .text = ByteView(block).subspan(at, payload), .trailer = {}},
                wire, payload);
            at += payload;
        }
        burst.seal(*cipher);
    }

    std::unique_ptr<ports::PacketCipher> cipher;
    const std::size_t payload, wire;
    std::vector<std::byte> block = std::vector<std::byte>(1u << 20);
    std::vector<std::byte> room = std::vector<std::byte>(Burst::kMaxBytes);
    Burst burst;
    std::size_t at = 0;
    std::uint64_t number = 0;
};

void name(benchmark::State& state) {
    constexpr std::array kNames{"aes-128-gcm", "chacha20-poly1305", "clear"};
    state.SetLabel(kNames[static_cast<std::size_t>(state.range(0))]);
}

void count(benchmark::State& state, std::size_t packets, std::size_t payload) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(packets));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(packets * payload));
}

void seal_burst(benchmark::State& state) {
    Sealed sealed(state);
    for (auto _ : state) sealed.seal();
    name(state);
    count(state, sealed.burst.packets(), sealed.payload);
}
BENCHMARK(seal_burst)->Apply(ways);

void open_burst(benchmark::State& state) {
    Sealed sealed(state);
    sealed.seal();
    const auto opener = cipher_of(state.range(0));
    std::vector<std::byte> packets;
    for (const ByteView part : sealed.burst.parts())
        packets.insert(packets.end(), part.begin(), part.end());
    std::vector<std::byte> block(1u << 20);
    std::vector<ports::OpenJob> jobs(sealed.burst.packets());
    std::size_t at = 0;
    bool ok = true;
    for (auto _ : state) {
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (at + sealed.payload > block.size()) at = 0;
            jobs[i] = {.number = i,
                       .packet = ByteView(packets).subspan(i * sealed.wire, sealed.wire),
                       .text = block.data() + at};
            at += sealed.payload;
        }
        opener->open(jobs);
        ok = ok && jobs.front().ok && jobs.back().ok;
    }
    if (!ok) state.SkipWithError("a packet did not open");
    name(state);
    count(state, jobs.size(), sealed.payload);
}
BENCHMARK(open_burst)->Apply(ways);

// Of all of a block, in steps as its bytes come; and at once.
void digest_leaf(benchmark::State& state) {
    const std::vector<std::byte> block(transfer::kLeafBytes);
    const auto whole = static_cast<std::uint32_t>(block.size());
    const auto step = static_cast<std::uint32_t>(state.range(0));
    transfer::LeafDigest digest;
    for (auto _ : state) {
        for (std::uint32_t last = step; last < whole; last += step) digest.extend(block, 0, last);
        benchmark::DoNotOptimize(digest.finish(block, 0, whole));
        digest.forget();
    }
    count(state, 1, block.size());
}
BENCHMARK(digest_leaf)->ArgName("step")->Arg(64 << 10)->Arg(1 << 20);

}  // namespace
