#include "tests/simulation/world.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"
#include "common/engine/receive_side.h"
#include "common/engine/send_side.h"
#include "common/io/machine.h"

namespace lambda::simulation {

void World::after(Duration delay, std::function<void()> action) {
    events_.push({now_ + delay, order_++, std::move(action)});
}

void World::advance(Time to) {
    while (!events_.empty() && events_.top().time <= to) {
        now_ = std::max(now_, events_.top().time);
        const std::function<void()> action = events_.top().action;
        events_.pop();
        action();
    }
    now_ = std::max(now_, to);
}

// ---- datagrams

ports::SendOutcome VirtualSocket::send(ByteView burst, std::size_t segment_bytes,
                                       const Address& to) {
    LAMBDA_ASSERT(segment_bytes > 0 && burst.size() <= 65507);
    if (std::min(segment_bytes, burst.size()) > path_.first_hop)
        return ports::SendOutcome::too_large;
    const auto other = others_.find(to.port);
    for (std::size_t at = 0; at < burst.size(); at += segment_bytes) {
        const ByteView one = burst.subspan(at, std::min(segment_bytes, burst.size() - at));
        ++path_.counters.sent;
        if (sent_to != nullptr) (*sent_to)[to] += one.size();
        std::vector<std::byte> datagram(one.begin(), one.end());
        if (tap != nullptr) tap->push_back(datagram);
        if (other != others_.end()) carry(std::move(datagram), *other->second);
    }
    return ports::SendOutcome::sent;
}

void VirtualSocket::carry(std::vector<std::byte> datagram, VirtualSocket& to) {
    if (path_.dead || datagram.size() > path_.largest || world_.chance(path_.loss)) {
        ++path_.counters.lost;
        return;
    }
    if (world_.chance(path_.truncate)) {
        ++path_.counters.truncated;
        datagram.resize(world_.below(datagram.size()));
    }
    if (!datagram.empty() && world_.chance(path_.flip)) {
        ++path_.counters.flipped;
        datagram[world_.below(datagram.size())] ^= static_cast<std::byte>(1u << world_.below(8));
    }
    Duration delay = path_.delay;
    if (world_.chance(path_.reorder)) {
        ++path_.counters.reordered;
        delay += path_.reorder_by;
    }
    const Address from = own_;
    if (world_.chance(path_.duplicate)) {
        ++path_.counters.duplicated;
        world_.after(delay, [&to, datagram, from] { to.inject(datagram, from); });
    }
    world_.after(delay, [&to, datagram = std::move(datagram), from] { to.inject(datagram, from); });
}

void VirtualSocket::inject(std::vector<std::byte> datagram, const Address& from) {
    inbox_.emplace_back(std::move(datagram), from);
}

std::size_t VirtualSocket::receive(std::span<ports::Arrival> out) {
    taken_.clear();
    std::size_t count = 0;
    while (count < out.size() && !inbox_.empty()) {
        taken_.push_back(std::move(inbox_.front().first));
        out[count++] = {taken_.back(), inbox_.front().second};
        inbox_.pop_front();
    }
    return count;
}

// ---- feedback

namespace {

struct Pipe {
    std::vector<std::byte> arrived;
    std::vector<std::byte> given;
    bool alive = true;
    bool stalled = false;
};

class PipeEnd final : public ports::FeedbackChannel {
  public:
    PipeEnd(World& world, Duration delay, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out)
        : world_(world), delay_(delay), in_(std::move(in)), out_(std::move(out)) {}
    ~PipeEnd() override {
        world_.after(delay_, [out = out_] { out->alive = false; });
    }
    bool send(ByteView frame) override {
        if (out_->stalled)
            return stalled_bytes_ + frame.size() <= (256u << 10) &&
                   (stalled_bytes_ += frame.size(), true);
        world_.after(delay_,
                     [out = out_, bytes = std::vector<std::byte>(frame.begin(), frame.end())] {
                         if (!out->stalled)
                             out->arrived.insert(out->arrived.end(), bytes.begin(), bytes.end());
                     });
        return true;
    }
    ByteView receive() override {
        in_->given = std::move(in_->arrived);
        in_->arrived.clear();
        return in_->given;
    }
    bool alive() const override { return in_->alive; }

  private:
    World& world_;
    Duration delay_;
    std::shared_ptr<Pipe> in_, out_;
    std::size_t stalled_bytes_ = 0;
};

}  // namespace

struct VirtualFeedback::State {
    State(World& w, Duration d, VirtualFeedback& o)
        : world(w), delay(d), owner(o), client(*this), server(*this) {}
    struct ClientSource final : ports::FeedbackSource {
        explicit ClientSource(State& s) : state(s) {}
        std::optional<ports::Joined> poll() override { return state.take(state.to_client); }
        void dial(std::uint16_t stripe, std::uint32_t epoch) override { state.dial(stripe, epoch); }
        State& state;
    };
    struct ServerSource final : ports::FeedbackSource {
        explicit ServerSource(State& s) : state(s) {}
        std::optional<ports::Joined> poll() override { return state.take(state.to_server); }
        void dial(std::uint16_t, std::uint32_t) override {}
        State& state;
    };
    std::optional<ports::Joined> take(std::deque<ports::Joined>& queue) {
        if (queue.empty()) return std::nullopt;
        std::optional<ports::Joined> joined(std::move(queue.front()));
        queue.pop_front();
        return joined;
    }
    void dial(std::uint16_t stripe, std::uint32_t epoch) {
        ++dials;
        if (owner.refuse) return;
        // A TCP and a TLS handshake: two round trips; the server joins half a one earlier.
        world.after(3 * delay, [this, stripe, epoch] {
            auto up = std::make_shared<Pipe>(), down = std::make_shared<Pipe>();
            pipes[stripe].push_back(up);
            pipes[stripe].push_back(down);
            to_server.push_back({stripe, epoch, std::make_unique<PipeEnd>(world, delay, up, down)});
            world.after(delay, [this, stripe, epoch, up, down] {
                to_client.push_back(
                    {stripe, epoch, std::make_unique<PipeEnd>(world, delay, down, up)});
            });
        });
    }
    World& world;
    Duration delay;
    VirtualFeedback& owner;
    ClientSource client;
    ServerSource server;
    std::deque<ports::Joined> to_client, to_server;
    std::map<std::uint16_t, std::vector<std::shared_ptr<Pipe>>> pipes;
    unsigned dials = 0;
};

VirtualFeedback::VirtualFeedback(World& world, Duration delay)
    : state_(std::make_unique<State>(world, delay, *this)) {}
VirtualFeedback::~VirtualFeedback() = default;
ports::FeedbackSource& VirtualFeedback::client() {
    return state_->client;
}
ports::FeedbackSource& VirtualFeedback::server() {
    return state_->server;
}
void VirtualFeedback::cut(std::uint16_t stripe) {
    for (const auto& pipe : state_->pipes[stripe]) pipe->alive = false;
}
void VirtualFeedback::stall(std::uint16_t stripe) {
    for (const auto& pipe : state_->pipes[stripe]) pipe->stalled = true;
}
unsigned VirtualFeedback::dials() const {
    return state_->dials;
}

// ---- disk

namespace {

Error disk_error(const std::string& path, int number) {
    return errno_error(Fault::file, "cannot", path, number);
}

}  // namespace

MemoryDisk::MemoryDisk(World& world, std::uint32_t slots, std::uint32_t block_bytes)
    : world_(world), slots_(slots, std::vector<std::byte>(block_bytes)) {}

void MemoryDisk::end_later(std::function<ports::DiskEvent()> action) {
    ++in_flight_;
    world_.after(latency, [this, action = std::move(action)] {
        --in_flight_;
        ended_.push_back(action());
    });
}

void MemoryDisk::open_source(ports::DiskTag tag, const std::string& path, std::uint64_t grain) {
    end_later([this, tag, path, grain] {
        ports::DiskEvent event{.tag = tag};
        const auto at = files.find(path);
        if (at == files.end()) {
            event.error = disk_error(path, ENOENT);
            return event;
        }
        event.file = next_file_++;
        open_[event.file] = {path, false};
        event.size = at->second.bytes.size();
        event.mtime_ns = at->second.mtime_ns;
        event.mode = at->second.mode;
        for (std::uint64_t first = 0; first < event.size; first += grain) {
            const std::uint64_t last = std::min(event.size, first + grain);
            const bool hole =
                last - first == grain &&
                std::all_of(at->second.bytes.begin() + static_cast<std::ptrdiff_t>(first),
                            at->second.bytes.begin() + static_cast<std::ptrdiff_t>(last),
                            [](std::byte b) { return b == std::byte{0}; });
            if (hole) continue;
            if (!event.data.empty() && event.data.back().last == first) {
                event.data.back().last = last;
            } else {
                event.data.push_back({first, last});
            }
        }
        return event;
    });
}

bool MemoryDisk::read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                      std::uint32_t slot, std::size_t at, std::size_t bytes) {
    if (in_flight_ >= 64) return false;
    LAMBDA_ASSERT(at + bytes <= slots_[slot].size());
    end_later([this, tag, file, offset, slot, at, bytes] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = open_.at(file).path;
        if (on_read) on_read(path, offset);
        if (fail_read.contains(path)) {
            event.error = disk_error(path, EIO);
            return event;
        }
        const auto& content = files.at(path).bytes;
        const std::size_t there =
            content.size() > offset ? std::min(bytes, content.size() - offset) : 0;
        if (there > 0) std::memcpy(slots_[slot].data() + at, content.data() + offset, there);
        event.bytes = there;
        return event;
    });
    return true;
}

void MemoryDisk::check_source(ports::DiskTag tag, ports::DiskFile file) {
    end_later([this, tag, file] {
        const MemoryFile& now = files.at(open_.at(file).path);
        ports::DiskEvent event{.tag = tag};
        event.size = now.bytes.size();
        event.mtime_ns = now.mtime_ns;
        return event;
    });
}

void MemoryDisk::create_target(ports::DiskTag tag, const std::string& path, std::uint64_t) {
    end_later([this, tag, path] {
        ports::DiskEvent event{.tag = tag};
        if (fail_create.contains(path)) {
            event.error = disk_error(path, EACCES);
            return event;
        }
        event.file = next_file_++;
        open_[event.file] = {path, true};
        files[path + ".part"] = MemoryFile{};
        return event;
    });
}

bool MemoryDisk::write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset,
                       std::uint32_t slot, std::size_t at, std::size_t bytes) {
    if (in_flight_ >= 64) return false;
    end_later([this, tag, file, offset, slot, at, bytes] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = open_.at(file).path;
        if (fail_write.contains(path)) {
            event.error = disk_error(path, ENOSPC);
            return event;
        }
        auto& content = files.at(path + ".part").bytes;
        content.resize(std::max(content.size(), offset + bytes));
        std::memcpy(content.data() + offset, slots_[slot].data() + at, bytes);
        event.bytes = bytes;
        return event;
    });
    return true;
}

void MemoryDisk::commit(ports::DiskTag tag, ports::DiskFile file,
                        const ports::FileMetadata& metadata) {
    end_later([this, tag, file, metadata] {
        ports::DiskEvent event{.tag = tag};
        const std::string path = open_.at(file).path;
        open_.erase(file);
        auto part = files.extract(path + ".part");
        if (fail_commit.contains(path)) {
            event.error = disk_error(path, EROFS);
            return event;
        }
        MemoryFile& done = part.mapped();
        done.bytes.resize(metadata.size);
        done.mtime_ns = metadata.mtime_ns;
        done.mode = metadata.mode;
        files[path] = std::move(done);
        return event;
    });
}

void MemoryDisk::close(ports::DiskFile file) {
    const auto at = open_.find(file);
    LAMBDA_ASSERT(at != open_.end());
    if (at->second.target) files.erase(at->second.path + ".part");
    open_.erase(at);
}

std::span<const ports::DiskEvent> MemoryDisk::poll() {
    given_ = std::move(ended_);
    ended_.clear();
    return given_;
}

// ---- a run

namespace {

Address address(unsigned host, std::uint16_t port) {
    Address made;
    made.ip[10] = made.ip[11] = std::byte{0xff};
    made.ip[12] = std::byte{10};
    made.ip[15] = static_cast<std::byte>(host);
    made.port = port;
    return made;
}

// Passes through, and hears of every seal.
class WatchedCipher final : public ports::PacketCipher {
  public:
    using Watch = std::function<void(std::uint64_t number, ByteView packet)>;
    WatchedCipher(std::unique_ptr<ports::PacketCipher> cipher, Watch watch)
        : cipher_(std::move(cipher)), watch_(std::move(watch)) {}
    std::size_t tag_bytes() const override { return cipher_->tag_bytes(); }
    void seal(std::span<const ports::SealJob> jobs) override {
        cipher_->seal(jobs);
        for (const ports::SealJob& job : jobs) {
            watch_(job.number, {job.packet, ports::kHeaderBytes + job.text.size() +
                                                job.trailer.size() + tag_bytes()});
        }
    }
    void open(std::span<ports::OpenJob> jobs) override { cipher_->open(jobs); }

  private:
    std::unique_ptr<ports::PacketCipher> cipher_;
    Watch watch_;
};

constexpr unsigned kClient = 1, kServer = 2, kNat = 3;

}  // namespace

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

Run::Run(std::uint64_t seed, Options given, std::vector<transfer::SourceName> sources,
         transfer::Target to)
    : world(seed),
      options(std::move(given)),
      feedback(world, options.feedback_delay),
      source(world, options.slots, options.terms.block),
      target(world, options.slots, options.terms.block),
      sources_(std::move(sources)),
      target_(std::move(to)) {
    const bool put = options.terms.direction == session::Direction::put;
    Path& up = put ? options.forward : options.backward;
    Path& down = put ? options.backward : options.forward;
    for (std::uint16_t i = 0; i < options.terms.stripes; ++i) {
        client_sockets.push_back(std::make_unique<VirtualSocket>(
            world, up,
            address(options.behind_nat ? kNat : kClient, static_cast<std::uint16_t>(40000 + i))));
        client_sockets.back()->buffer_bytes = options.buffer_bytes;
    }
    const unsigned ports = options.one_port ? 1 : options.terms.stripes;
    for (std::uint16_t i = 0; i < ports; ++i) {
        server_sockets.push_back(std::make_unique<VirtualSocket>(
            world, down, address(kServer, static_cast<std::uint16_t>(50000 + i))));
        server_sockets.back()->buffer_bytes = options.buffer_bytes;
    }
    for (std::size_t i = 0; i < client_sockets.size(); ++i) {
        VirtualSocket& server = *server_sockets[i % server_sockets.size()];
        client_sockets[i]->reach(server);
        server.reach(*client_sockets[i]);
    }
}

Run::~Run() = default;

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
        for (const auto& name : sources_) made.wants.push_back(name.path);
    }
    made.target = target_;
    made.first_number = options.first_number;
    made.seed = world.below(1u << 30);
    made.fill_random = [this](ByteSpan out) {
        for (std::byte& byte : out) byte = static_cast<std::byte>(world.below(256));
    };
    made.disk = sends ? &source : &target;
    made.feedback = client ? &feedback.client() : &feedback.server();
    for (const auto& socket : client ? client_sockets : server_sockets)
        made.sockets.push_back(socket.get());
    made.ciphers = ciphers();
    return made;
}

bool Run::run() {
    const Time limit = world.now() + options.limit;
    sender = std::make_unique<engine::SendSide>(setup(true), world.now());
    receiver = std::make_unique<engine::ReceiveSide>(setup(false), world.now());
    while (world.now() < limit) {
        const Time a = sender->done() ? kNever : sender->turn(world.now());
        const Time b = receiver->done() ? kNever : receiver->turn(world.now());
        if (sender->done() && receiver->done()) return true;
        // A turn takes time: without it a turn that asks to come again at once would stop the
        // clock.
        const Time next = std::min({a, b, world.next()});
        world.advance(std::max(next, world.now() + std::chrono::microseconds(20)));
    }
    return false;
}

}  // namespace lambda::simulation
