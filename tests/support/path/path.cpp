#include "tests/support/path/path.h"

#include <limits>
#include <sstream>

namespace lambda::path {
namespace {

// Packets taken from one side before the other has its turn.
constexpr int kBatch = 64;
// Of delayed packets: a second at 2 Gbit/s.
constexpr std::size_t kMostWaitingBytes = 256u << 20;

}  // namespace

Path::Path(Tun& left, Tun& right, Impairments impairments, std::uint64_t seed)
    : tuns_{&left, &right}, impairments_(impairments), dice_(seed) {}

bool Path::take(int side, double now_s) {
    for (int i = 0; i < kBatch; ++i) {
        if (!tuns_[side]->read(buffer_)) return i > 0;
        pass(side, buffer_, now_s);
    }
    return true;
}

void Path::pass(int from, Packet& packet, double now_s) {
    Counters& count = counters_[from];
    ++count.packets;
    count.bytes += packet.size();
    if (dead_) {
        ++count.dead;
        return;
    }
    if (impairments_.mtu > 0 && static_cast<double>(packet.size()) > impairments_.mtu) {
        ++count.too_big;
        return;
    }
    const auto layout = parse(packet);
    const bool udp = layout && layout->transport == Transport::udp;
    if (udp) {
        ++count.udp_packets;
        count.udp_bytes += layout->end - layout->payload_at;
    }
    if (layout && layout->transport == Transport::tcp && !pass_tcp(from, packet, *layout, now_s)) {
        return;
    }
    double due_s = now_s + impairments_.delay_ms / 1e3;
    if (!udp && impairments_.all == 0) return send(from, packet, due_s, now_s);
    if (dice_.hit(impairments_.loss)) {
        ++count.lost;
        return;
    }
    if (udp) damage(packet, *layout, count);
    if (dice_.hit(impairments_.duplicate)) {
        ++count.duplicated;
        send(from, packet, due_s, now_s);
    }
    if (dice_.hit(impairments_.reorder)) {
        ++count.reordered;
        due_s += impairments_.reorder_ms / 1e3;
    }
    send(from, packet, due_s, now_s);
}

bool Path::pass_tcp(int from, const Packet& packet, const Layout& layout, double now_s) {
    switch (watch_.observe(packet, layout, now_s)) {
        case Fate::pass:
            return true;
        case Fate::stall:
            ++counters_[from].stalled;
            return false;
        case Fate::cut:
            break;
    }
    ++counters_[from].cut;
    if (tcp_flags(packet, layout).rst) return false;
    if (const auto reset = reset_to_source(packet, layout)) write(from, *reset);
    write(1 - from, reset_to_destination(packet, layout));
    return false;
}

void Path::damage(Packet& packet, const Layout& layout, Counters& count) {
    const std::size_t payload = layout.end - layout.payload_at;
    if (payload == 0) return;
    if (dice_.hit(impairments_.flip)) {
        ++count.flipped;
        flip_bit(packet, layout, dice_.below(payload * 8));
    }
    if (dice_.hit(impairments_.truncate)) {
        ++count.truncated;
        truncate(packet, layout, dice_.below(payload));
    }
}

void Path::send(int from, const Packet& packet, double due_s, double now_s) {
    if (due_s <= now_s) return write(1 - from, packet);
    if (waiting_bytes_ + packet.size() > kMostWaitingBytes) {
        ++counters_[from].overflow;
        return;
    }
    waiting_bytes_ += packet.size();
    waiting_.push({due_s, order_++, 1 - from, packet});
}

void Path::write(int to, const Packet& packet) {
    if (!tuns_[to]->write(packet)) ++counters_[1 - to].unwritten;
}

double Path::deliver(double now_s) {
    while (!waiting_.empty()) {
        const Waiting& next = waiting_.top();
        if (next.due_s > now_s) return next.due_s;
        waiting_bytes_ -= next.packet.size();
        write(next.to, next.packet);
        waiting_.pop();
    }
    return std::numeric_limits<double>::infinity();
}

std::string Path::command(const std::string& line) {
    std::istringstream words(line);
    std::string verb, first, second;
    words >> verb >> first >> second;
    if (verb == "stats") return stats();
    if (verb == "connections") return watch_.to_json();
    if (verb == "set" && impairments_.set(first, second)) return "ok";
    if (verb == "dead" && (first == "on" || first == "off")) {
        dead_ = first == "on";
        return "ok";
    }
    if (verb == "cut-tcp" || verb == "stall-tcp") {
        std::istringstream numbers(first + " " + second);
        std::uint16_t port = 0;
        std::size_t count = 0;
        if (numbers >> port >> count) {
            const Fate fate = verb == "cut-tcp" ? Fate::cut : Fate::stall;
            return "ok " + std::to_string(watch_.condemn(port, count, fate));
        }
    }
    return "error: what is \"" + line + "\"?";
}

std::string Path::stats() const {
    return "{\"left_to_right\":" + counters_[0].to_json() +
           ",\"right_to_left\":" + counters_[1].to_json() + "}";
}

}  // namespace lambda::path
