#include "tests/support/path/tcp_watch.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace lambda::path {
namespace {

// Of connections remembered after their ends were used again.
constexpr std::size_t kMostEarlier = 1024;

const char* to_string(Fate fate) {
    switch (fate) {
        case Fate::pass:
            return "pass";
        case Fate::stall:
            return "stall";
        case Fate::cut:
            return "cut";
    }
    return "";
}

}  // namespace

Fate TcpWatch::observe(const Packet& packet, const Layout& layout, double now_s) {
    const TcpFlags flags = tcp_flags(packet, layout);
    const Endpoint from = source(packet, layout);
    const Endpoint to = destination(packet, layout);
    if (flags.syn && !flags.ack) {
        const Key key{from, to};
        const auto known = current_.find(key);
        if (known != current_.end() && !known->second.open()) {
            if (earlier_.size() == kMostEarlier) earlier_.erase(earlier_.begin());
            earlier_.emplace(known->second.id, known->second);
            current_.erase(known);
        }
        Connection& connection = find(key, now_s);
        ++connection.packets;
        connection.last_s = now_s;
        return connection.fate;
    }
    bool from_client = true;
    auto entry = current_.find({from, to});
    if (entry == current_.end()) {
        from_client = false;
        entry = current_.find({to, from});
    }
    if (entry == current_.end()) return Fate::pass;  // began before the watch
    Connection& connection = entry->second;
    ++connection.packets;
    connection.last_s = now_s;
    if (flags.syn) connection.established = true;
    if (flags.fin) (from_client ? connection.client_closed : connection.server_closed) = true;
    if (flags.rst) connection.client_closed = connection.server_closed = true;
    return connection.fate;
}

TcpWatch::Connection& TcpWatch::find(const Key& key, double now_s) {
    const auto [entry, fresh] = current_.try_emplace(key);
    if (fresh) {
        Connection& connection = entry->second;
        connection.id = next_id_++;
        connection.client_port = key.first.port;
        connection.server_port = key.second.port;
        connection.opened_s = now_s;
    }
    return entry->second;
}

std::size_t TcpWatch::condemn(std::uint16_t server_port, std::size_t count, Fate fate) {
    std::vector<Connection*> open;
    for (auto& [key, connection] : current_) {
        if (connection.server_port == server_port && connection.open()) open.push_back(&connection);
    }
    std::sort(open.begin(), open.end(), [](auto* a, auto* b) { return a->id > b->id; });
    if (!open.empty()) open.pop_back();
    std::size_t found = 0;
    for (Connection* connection : open) {
        if (found == count) break;
        if (connection->fate != Fate::pass) continue;
        connection->fate = fate;
        ++found;
    }
    return found;
}

std::string TcpWatch::to_json() const {
    std::map<std::uint64_t, const Connection*> all;
    for (const auto& [id, connection] : earlier_) all[id] = &connection;
    for (const auto& [key, connection] : current_) all[connection.id] = &connection;
    std::ostringstream out;
    out.precision(6);
    out << std::fixed << '[';
    const char* comma = "";
    for (const auto& [id, connection] : all) {
        out << comma << "{\"id\":" << id << ",\"client_port\":" << connection->client_port
            << ",\"server_port\":" << connection->server_port
            << ",\"opened\":" << connection->opened_s << ",\"last\":" << connection->last_s
            << ",\"packets\":" << connection->packets
            << ",\"established\":" << (connection->established ? "true" : "false")
            << ",\"open\":" << (connection->open() ? "true" : "false") << ",\"fate\":\""
            << to_string(connection->fate) << "\"}";
        comma = ",";
    }
    out << ']';
    return out.str();
}

}  // namespace lambda::path
