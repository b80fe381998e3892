// A whole transfer in virtual time: two production ends with real bytes and real ciphers, the world
// between them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/engine/setup.h"
#include "tools/sim/feedback.h"
#include "tools/sim/host.h"
#include "tools/sim/list_walker.h"
#include "tools/sim/memory_disk.h"
#include "tools/sim/memory_reader.h"
#include "tools/sim/memory_tree.h"
#include "tools/sim/path.h"
#include "tools/sim/world.h"

namespace lambda::simulation {

struct Options {
    session::Terms terms;
    Path forward, backward;  // sender to receiver, and the other way
    Duration feedback_delay = std::chrono::milliseconds(5);
    sabul::PacketNumber first_number = 0;
    std::uint32_t slots = 32;
    std::size_t buffer_bytes = 4u << 20;
    unsigned server_ports = 0;  // of UDP; 0: one for each stripe
    bool behind_nat = false;    // the client's datagrams come from another host than its session
    Duration limit = std::chrono::minutes(10);  // of virtual time
    // May put other ports in place of these; called once for each end.
    std::function<void(bool sends, engine::Setup& setup)> adjust;
};

// A whole transfer: two ends, the world between them.
class Run {
  public:
    Run(std::uint64_t seed, Options options, std::vector<transfer::SourceName> sources,
        transfer::Target target);
    ~Run();

    // Until both ends are done or stopped; false when the time limit came first.
    bool run();

    World world;
    Options options;
    Host sender_host, receiver_host;
    std::vector<std::unique_ptr<VirtualSocket>> client_sockets, server_sockets;
    VirtualFeedback feedback;
    MemoryDisk source, target;
    MemoryTree tree;  // on the target
    MemoryReader source_reader, target_reader;
    ListWalker walker;
    engine::End *sender = nullptr, *receiver = nullptr;
    // (key, nonce) pairs that sealed two different packets; must stay 0.
    std::uint64_t nonces_reused = 0;
    std::uint64_t packets_sealed = 0;
    std::set<std::uint64_t> key_ages;

  private:
    Host& client_host();
    Host& server_host();
    void start(bool sends);
    engine::Setup setup(bool sends);
    std::vector<engine::StripeCiphers> ciphers();
    std::vector<transfer::SourceName> sources_;
    transfer::Target target_;
    std::map<std::tuple<std::uint16_t, int, std::uint64_t>, std::uint64_t> sealed_;
};

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed);

}  // namespace lambda::simulation
