// Which TCP connections pass, when each began, and which of them are to stall or to be cut. Pure:
// the caller gives the time. A connection's client is the end that sent the first SYN.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/support/path/packet.h"

namespace lambda::path {

enum class Fate { pass, stall, cut };

class TcpWatch {
  public:
    // Takes note of a TCP packet, and says what its connection is to suffer.
    Fate observe(const Packet& packet, const Layout& layout, double now_s);

    // Condemns the `count` youngest open connections to this server port, never the oldest open one
    // (that is the control session). Returns how many were found.
    std::size_t condemn(std::uint16_t server_port, std::size_t count, Fate fate);

    // A JSON array, oldest first. Times are CLOCK_MONOTONIC seconds.
    std::string to_json() const;

  private:
    struct Connection {
        std::uint64_t id = 0;  // in order of the first SYN
        std::uint16_t client_port = 0;
        std::uint16_t server_port = 0;
        double opened_s = 0;
        double last_s = 0;
        std::uint64_t packets = 0;
        bool established = false;  // the server answered
        bool client_closed = false;
        bool server_closed = false;
        Fate fate = Fate::pass;
        bool open() const { return !(client_closed && server_closed); }
    };
    using Key = std::pair<Endpoint, Endpoint>;  // client, server

    Connection& find(const Key& key, double now_s);

    std::map<Key, Connection> current_;            // the latest connection of each pair of ends
    std::map<std::uint64_t, Connection> earlier_;  // those whose ends were used again
    std::uint64_t next_id_ = 0;
};

}  // namespace lambda::path
