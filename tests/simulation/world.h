// A world in virtual time for the two ends of a transfer: a network that loses, repeats, delays and
// damages datagrams by seed, feedback connections that can be cut or stalled, and a disk in memory.
// The engines, ciphers and everything below are the production ones.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/engine/end.h"
#include "common/engine/setup.h"

namespace lambda::simulation {

class World {
  public:
    explicit World(std::uint64_t seed) : random_(seed) {}
    Time now() const { return now_; }
    void after(Duration delay, std::function<void()> action);
    // The time of the next event; kNever where there is none.
    Time next() const { return events_.empty() ? kNever : events_.top().time; }
    void advance(Time to);
    bool chance(double probability) {
        return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
    }
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  private:
    struct Event {
        Time time;
        std::uint64_t order;
        std::function<void()> action;
        bool operator<(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    Time now_ = Time(std::chrono::hours(1));
    std::uint64_t order_ = 0;
    std::priority_queue<Event> events_;
    std::mt19937_64 random_;
};

struct Path {
    Duration delay = std::chrono::milliseconds(5);  // each way
    double loss = 0, duplicate = 0, reorder = 0, truncate = 0, flip = 0;
    Duration reorder_by = std::chrono::milliseconds(2);
    std::size_t largest = 65507;    // longer datagrams vanish on the way
    std::size_t first_hop = 65507;  // longer ones are refused by the socket
    bool dead = false;
    struct Counters {
        std::uint64_t sent = 0, lost = 0, duplicated = 0, reordered = 0, truncated = 0, flipped = 0;
    } counters;
};

// One UDP socket; two of them face each other, or one faces several where ports are shared.
class VirtualSocket final : public ports::DatagramSocket {
  public:
    VirtualSocket(World& world, Path& path, Address own) : world_(world), path_(path), own_(own) {}
    void reach(VirtualSocket& other) { others_[other.own_.port] = &other; }
    // What the other side sees as the source; a NAT when it differs from the real address.
    void appear_as(Address address) { own_ = address; }

    ports::SendOutcome send(ByteView burst, std::size_t segment_bytes, const Address& to) override;
    std::size_t receive(std::span<ports::Arrival> out) override;
    std::uint64_t dropped() const override { return 0; }
    std::size_t receive_buffer_bytes() const override { return buffer_bytes; }
    std::size_t largest_datagram(const Address&) override { return path_.first_hop; }
    std::size_t max_segments() const override { return 64; }

    void inject(std::vector<std::byte> datagram, const Address& from);
    std::size_t buffer_bytes = 4u << 20;
    // Every datagram that was handed to the network, as an attacker on the path would keep it.
    std::vector<std::vector<std::byte>>* tap = nullptr;
    std::map<Address, std::uint64_t>* sent_to = nullptr;

  private:
    void carry(std::vector<std::byte> datagram, VirtualSocket& to);

    World& world_;
    Path& path_;
    Address own_;
    std::map<std::uint16_t, VirtualSocket*> others_;
    std::deque<std::pair<std::vector<std::byte>, Address>> inbox_;
    std::vector<std::vector<std::byte>> taken_;
};

// Feedback connections between the two ends, made on the client's dial.
class VirtualFeedback {
  public:
    VirtualFeedback(World& world, Duration delay);
    ~VirtualFeedback();
    ports::FeedbackSource& client();
    ports::FeedbackSource& server();
    // Ends the live connections of a stripe, or swallows what they carry from now on.
    void cut(std::uint16_t stripe);
    void stall(std::uint16_t stripe);
    unsigned dials() const;
    bool refuse = false;  // no connection comes to stand

  private:
    struct State;
    std::unique_ptr<State> state_;
};

struct MemoryFile {
    std::vector<std::byte> bytes;
    std::int64_t mtime_ns = 1;
    std::uint32_t mode = 0644;
};

// A disk in memory that needs some time for each operation, and fails where it is told to.
class MemoryDisk final : public ports::Disk {
  public:
    MemoryDisk(World& world, std::uint32_t slots, std::uint32_t block_bytes);

    std::map<std::string, MemoryFile> files;  // also "NAME.part"
    std::set<std::string> fail_create, fail_write, fail_read, fail_commit;
    std::function<void(const std::string& path, std::uint64_t offset)> on_read;
    Duration latency = std::chrono::microseconds(200);

    std::uint32_t slot_count() const override { return static_cast<std::uint32_t>(slots_.size()); }
    ByteSpan slot(std::uint32_t index) override { return slots_[index]; }
    void open_source(ports::DiskTag tag, const std::string& path, std::uint64_t grain) override;
    bool read(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
              std::size_t at, std::size_t bytes) override;
    void check_source(ports::DiskTag tag, ports::DiskFile file) override;
    void create_target(ports::DiskTag tag, const std::string& path, std::uint64_t size) override;
    bool write(ports::DiskTag tag, ports::DiskFile file, std::uint64_t offset, std::uint32_t slot,
               std::size_t at, std::size_t bytes) override;
    void commit(ports::DiskTag tag, ports::DiskFile file,
                const ports::FileMetadata& metadata) override;
    void close(ports::DiskFile file) override;
    void submit() override {}
    std::span<const ports::DiskEvent> poll() override;

  private:
    struct Open {
        std::string path;
        bool target = false;
    };
    void end_later(std::function<ports::DiskEvent()> action);

    World& world_;
    std::vector<std::vector<std::byte>> slots_;
    std::map<ports::DiskFile, Open> open_;
    ports::DiskFile next_file_ = 0;
    std::vector<ports::DiskEvent> ended_, given_;
    unsigned in_flight_ = 0;
};

struct Options {
    session::Terms terms;
    Path forward, backward;  // sender to receiver, and the other way
    Duration feedback_delay = std::chrono::milliseconds(5);
    sabul::PacketNumber first_number = 0;
    std::uint32_t slots = 32;
    std::size_t buffer_bytes = 4u << 20;
    bool one_port = false;    // the server has one UDP port for all stripes
    bool behind_nat = false;  // the client's datagrams come from another host than its session
    Duration limit = std::chrono::minutes(10);  // of virtual time
};

// A whole transfer: two ends, the world between them.
class Run {
  public:
    Run(std::uint64_t seed, Options options, std::vector<transfer::SourceName> sources,
        transfer::Target target);
    ~Run();

    // Until both ends are done; false when the time limit came first.
    bool run();

    World world;
    Options options;
    std::vector<std::unique_ptr<VirtualSocket>> client_sockets, server_sockets;
    VirtualFeedback feedback;
    MemoryDisk source, target;
    std::unique_ptr<engine::End> sender, receiver;
    // (key, nonce) pairs that sealed two different packets; must stay 0.
    std::uint64_t nonces_reused = 0;
    std::uint64_t packets_sealed = 0;
    std::set<std::uint64_t> key_ages;

  private:
    engine::Setup setup(bool sends);
    std::vector<engine::StripeCiphers> ciphers();
    std::vector<transfer::SourceName> sources_;
    transfer::Target target_;
    std::map<std::tuple<std::uint16_t, int, std::uint64_t>, std::uint64_t> sealed_;
};

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed);

}  // namespace lambda::simulation
