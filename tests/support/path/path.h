// A path between two TUN devices that loses, doubles, delays and damages packets. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "tests/support/path/impairments.h"
#include "tests/support/path/tcp_watch.h"
#include "tests/support/path/tun.h"

namespace lambda::path {

class Path {
  public:
    Path(Tun& left, Tun& right, Impairments impairments, std::uint64_t seed);

    // Takes what waits at the device of one side (0 left, 1 right), a bounded batch. False: nothing
    // was there.
    bool take(int side, double now_s);
    // Delivers what is due; returns the time of the next delivery, or infinity.
    double deliver(double now_s);

    // One command, one line of answer: see the usage text of the program.
    std::string command(const std::string& line);

  private:
    struct Waiting {
        double due_s;
        std::uint64_t order;
        int to;
        Packet packet;
        bool operator>(const Waiting& other) const {
            return due_s != other.due_s ? due_s > other.due_s : order > other.order;
        }
    };

    void pass(int from, Packet& packet, double now_s);
    bool pass_tcp(int from, const Packet& packet, const Layout& layout, double now_s);
    void damage(Packet& packet, const Layout& layout, Counters& count);
    void send(int from, const Packet& packet, double due_s, double now_s);
    void write(int to, const Packet& packet);
    std::string stats() const;

    std::array<Tun*, 2> tuns_;
    std::array<Counters, 2> counters_;  // by the side that the packet came from
    Impairments impairments_;
    Dice dice_;
    TcpWatch watch_;
    bool dead_ = false;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::uint64_t order_ = 0;
    Packet buffer_;
};

}  // namespace lambda::path
