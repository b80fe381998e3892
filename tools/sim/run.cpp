#include "tools/sim/run.h"

#include <xxhash.h>

#include <cstring>
#include <random>

#include "common/base/assert.h"
#include "common/engine/receive_side.h"
#include "common/engine/send_side.h"
#include "common/io/cipher/packet_cipher.h"
#include "common/io/cipher/random.h"

namespace lambda::simulation {
namespace {

// Passes through, and hears of every seal.
class WatchedCipher final : public ports::PacketCipher {
  public:
    using Watch = std::function<void(std::uint64_t number, ByteView packet)>;
    WatchedCipher(std::unique_ptr<ports::PacketCipher> cipher, Watch watch)
        : cipher_(std::move(cipher)), watch_(std::move(watch)) {}
    std::size_t tag_bytes() const override { return cipher_->tag_bytes(); }
    bool leaves_text() const override { return cipher_->leaves_text(); }
    void seal(std::span<const ports::SealJob> jobs) override {
        cipher_->seal(jobs);
        for (const ports::SealJob& job : jobs) {
            const std::size_t text = job.apart ? 0 : job.text.size();
            packet_.assign(job.packet, job.packet + ports::kHeaderBytes + text +
                                           job.trailer.size() + tag_bytes());
            if (job.apart) {
                packet_.insert(packet_.begin() + ports::kHeaderBytes, job.text.begin(),
                               job.text.end());
            }
            watch_(job.number, packet_);
        }
    }
    void open(std::span<ports::OpenJob> jobs) override { cipher_->open(jobs); }

  private:
    std::unique_ptr<ports::PacketCipher> cipher_;
    Watch watch_;
    std::vector<std::byte> packet_;
};

constexpr unsigned kClient = 1, kServer = 2, kNat = 3;

}  // namespace

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
        const std::uint64_t drawn = random();
        std::memcpy(&bytes[at], &drawn, std::min(sizeof drawn, count - at));
    }
    return bytes;
}

Run::Run(std::uint64_t seed, Options given, std::vector<transfer::SourceName> sources,
         transfer::Target to)
    : world(seed),
      options(std::move(given)),
      sender_host(world, {}),
      receiver_host(world, {}),
      feedback(world, options.feedback_delay, Duration{0}, client_host().alarm(),
               server_host().alarm()),
      source(world, sender_host.alarm(), options.slots, options.terms.block),
      target(world, receiver_host.alarm(), options.slots, options.terms.block),
      tree(world, receiver_host.alarm(), target),
      source_reader(world, sender_host.alarm(), source),
      target_reader(world, receiver_host.alarm(), target),
      sources_(std::move(sources)),
      target_(std::move(to)) {
    const bool put = options.terms.direction == session::Direction::put;
    Path& up = put ? options.forward : options.backward;
    Path& down = put ? options.backward : options.forward;
    for (std::uint16_t i = 0; i < options.terms.stripes; ++i) {
        client_sockets.push_back(std::make_unique<VirtualSocket>(
            world, up,
            address(options.behind_nat ? kNat : kClient, static_cast<std::uint16_t>(40000 + i)),
            client_host()));
        client_sockets.back()->buffer_bytes = options.buffer_bytes;
    }
    const unsigned stripes = options.terms.stripes;
    const unsigned ports =
        options.server_ports > 0 ? std::min(options.server_ports, stripes) : stripes;
    for (std::uint16_t i = 0; i < ports; ++i) {
        server_sockets.push_back(std::make_unique<VirtualSocket>(
            world, down, address(kServer, static_cast<std::uint16_t>(50000 + i)), server_host()));
        server_sockets.back()->buffer_bytes = options.buffer_bytes;
    }
    for (std::size_t i = 0; i < client_sockets.size(); ++i) {
        VirtualSocket& server = *server_sockets[i % server_sockets.size()];
        client_sockets[i]->reach(server);
        server.reach(*client_sockets[i]);
    }
}

Run::~Run() {
    sender_host.stop();
    receiver_host.stop();
}

std::vector<engine::StripeCiphers> Run::ciphers() {
    std::vector<engine::StripeCiphers> list;
    for (std::uint16_t stripe = 0; stripe < options.terms.stripes; ++stripe) {
        const auto one = [&](io::FlowDirection direction) -> std::unique_ptr<ports::PacketCipher> {
            io::CipherSpec spec{.protection = static_cast<std::uint8_t>(options.terms.protection),
                                .cipher = static_cast<std::uint8_t>(options.terms.cipher),
                                .secret = {},
                                .stripe = stripe,
                                .direction = direction};
            spec.secret.fill(std::byte{7});
            auto made = io::make_packet_cipher(spec);
            LAMBDA_ASSERT(made.ok());
            return std::make_unique<WatchedCipher>(
                std::move(*made), [this, stripe, direction](std::uint64_t number, ByteView packet) {
                    const std::uint64_t hash = XXH3_64bits(packet.data(), packet.size());
                    const auto [at, fresh] = sealed_.emplace(
                        std::tuple(stripe, static_cast<int>(direction), number), hash);
                    if (!fresh && at->second != hash) ++nonces_reused;
                    ++packets_sealed;
                    key_ages.insert(number >> 22);
                });
        };
        engine::StripeCiphers pair;
        pair.data = one(io::FlowDirection::data);
        pair.reverse = one(io::FlowDirection::reverse);
        list.push_back(std::move(pair));
    }
    return list;
}

engine::Setup Run::setup(bool sends) {
    const bool client = sends == (options.terms.direction == session::Direction::put);
    engine::Setup made;
    made.terms = options.terms;
    made.is_client = client;
    made.peer = address(client ? kServer : kClient, 2811);
    for (std::size_t i = 0; i < server_sockets.size(); ++i) {
        made.peer_ports.push_back(static_cast<std::uint16_t>(50000 + i));
    }
    if (sends && client) made.sources = sources_;
    if (!sends && client) {
        for (const auto& name : sources_) made.wants.push_back({.name = name.path});
        if (sources_.empty()) made.wants = {{.name = "/"}};
    }
    made.target = target_;
    made.first_number = options.first_number;
    made.seed = world.below(1u << 30);
    made.fill_random = [this](ByteSpan out) {
        for (std::byte& byte : out) byte = static_cast<std::byte>(world.below(256));
    };
    made.clock = sends ? &sender_host : &receiver_host;
    made.disk = sends ? &source : &target;
    made.walker = &walker;
    made.content_reader = sends ? &source_reader : &target_reader;
    made.target_tree = &tree;
    made.feedback = client ? &feedback.client() : &feedback.server();
    for (const auto& socket : client ? client_sockets : server_sockets)
        made.sockets.push_back(socket.get());
    made.ciphers = ciphers();
    if (options.adjust) options.adjust(sends, made);
    return made;
}

Host& Run::client_host() {
    return options.terms.direction == session::Direction::put ? sender_host : receiver_host;
}

Host& Run::server_host() {
    return options.terms.direction == session::Direction::put ? receiver_host : sender_host;
}

void Run::start(bool sends) {
    Host& host = sends ? sender_host : receiver_host;
    engine::Setup made = setup(sends);
    std::vector<VirtualSocket*> sockets;
    for (const auto& socket : &host == &client_host() ? client_sockets : server_sockets)
        sockets.push_back(socket.get());
    std::unique_ptr<engine::End> end;
    if (sends) {
        end = std::make_unique<engine::SendSide>(std::move(made), host.now());
    } else {
        end = std::make_unique<engine::ReceiveSide>(std::move(made), host.now());
    }
    (sends ? sender : receiver) = end.get();
    host.start(std::move(end), std::move(sockets));
}

bool Run::run() {
    const Time limit = world.now() + options.limit;
    start(true);
    start(false);
    while (!sender_host.over() || !receiver_host.over()) {
        if (!world.step(limit)) return false;
    }
    return true;
}

}  // namespace lambda::simulation
