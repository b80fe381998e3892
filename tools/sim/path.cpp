#include "tools/sim/path.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/ports/packet_cipher.h"
#include "tools/sim/host.h"

namespace lambda::simulation {
namespace {

constexpr double kIpv4Udp = 28;
constexpr std::size_t kSpareBuffers = 4096;
constexpr Duration kBusyFor = std::chrono::microseconds(100);

// As a kernel counts, which allows for twice the buffer, and gives a quarter back late.
std::size_t counted_bytes(std::size_t datagram) {
    return datagram < 16384 ? datagram * 3 / 2 : datagram + 1024;
}

}  // namespace

Address address(unsigned host, std::uint16_t port) {
    Address made;
    made.ip[10] = made.ip[11] = std::byte{0xff};
    made.ip[12] = std::byte{10};
    made.ip[14] = static_cast<std::byte>(host >> 8);
    made.ip[15] = static_cast<std::byte>(host);
    made.port = port;
    return made;
}

// Each by itself, or Gilbert's model: a run of losses ends with 1 / burst, and begins as often as
// the mean asks for.
bool Path::loses(World& world) {
    if (loss <= 0) return false;
    if (burst <= 1) return world.chance(loss);
    const double leave = 1 / burst;
    losing_ = losing_ ? !world.chance(leave) : world.chance(leave * loss / (1 - loss));
    return losing_;
}

ports::SendOutcome VirtualSocket::send(std::span<const ByteView> parts, std::size_t segment_bytes,
                                       ports::Text text, const Address& to) {
    burst_.clear();
    for (const ByteView part : parts) burst_.insert(burst_.end(), part.begin(), part.end());
    const ByteView burst(burst_);
    LAMBDA_ASSERT(segment_bytes > 0 && parts.size() <= kMostParts && burst.size() <= 65507);
    if (std::min(segment_bytes, burst.size()) > path_.first_hop)
        return ports::SendOutcome::too_large;
    if (world_.chance(busy)) {
        ++times_busy;
        owner_.alarm().set(world_.now() + kBusyFor);
        return ports::SendOutcome::would_block;
    }
    if (burst.size() > segment_bytes && !segments) {
        segments_told_ = true;
        return ports::SendOutcome::unsegmented;
    }
    ++path_.counters.bursts;
    const auto other = others_.find(to.port);
    for (std::size_t at = 0; at < burst.size(); at += segment_bytes) {
        const ByteView one = burst.subspan(at, std::min(segment_bytes, burst.size() - at));
        ++path_.counters.sent;
        if (sent_to != nullptr) (*sent_to)[to] += one.size();
        if (tap != nullptr) tap->emplace_back(one.begin(), one.end());
        const bool lent = path_.lends && text == ports::Text::lasts && parts.size() == 3;
        if (other != others_.end()) carry(one, lent ? parts[1] : ByteView{}, *other->second);
    }
    return ports::SendOutcome::sent;
}

void VirtualSocket::carry(ByteView datagram, ByteView lent, VirtualSocket& to) {
    if (path_.dead || datagram.size() > path_.largest || path_.loses(world_)) {
        ++path_.counters.lost;
        return;
    }
    Datagram carried{.bytes = to.buffer(datagram), .lent = lent, .from = own_};
    if (path_.access == nullptr) return arrive(std::move(carried), to);
    const auto departs =
        path_.access->admit(world_.now(), static_cast<double>(datagram.size()) + kIpv4Udp);
    if (!departs) return;
    world_.after(*departs - world_.now(), [this, &to, carried = std::move(carried)]() mutable {
        arrive(std::move(carried), to);
    });
}

void VirtualSocket::arrive(Datagram datagram, VirtualSocket& to) {
    const Time now = world_.now();
    const Time at = path_.pauses == nullptr ? now : path_.pauses->after(now);
    if (at == now) return cross(std::move(datagram), to);
    world_.after(at - now, [this, &to, datagram = std::move(datagram)]() mutable {
        cross(std::move(datagram), to);
    });
}

void VirtualSocket::cross(Datagram datagram, VirtualSocket& to) {
    std::vector<std::byte>& bytes = datagram.bytes;
    Time at = world_.now();
    if (path_.bottleneck != nullptr) {
        const auto departs =
            path_.bottleneck->admit(at, static_cast<double>(bytes.size()) + kIpv4Udp);
        if (!departs) return;
        at = *departs;
    }
    if (world_.chance(path_.truncate)) {
        ++path_.counters.truncated;
        bytes.resize(world_.below(bytes.size()));
        datagram.lent = {};
    }
    if (!bytes.empty() && world_.chance(path_.flip)) {
        ++path_.counters.flipped;
        bytes[world_.below(bytes.size())] ^= static_cast<std::byte>(1u << world_.below(8));
        datagram.lent = {};
    }
    at += path_.delay + world_.uniform(path_.jitter);
    if (path_.pauses != nullptr) at = path_.pauses->after(at);
    at = to.last_due_ = std::max(at, to.last_due_);
    if (world_.chance(path_.reorder)) {
        ++path_.counters.reordered;
        at += path_.reorder_by;
    }
    datagram.due = at;
    if (world_.chance(path_.duplicate)) {
        ++path_.counters.duplicated;
        to.put(datagram);
    }
    to.put(std::move(datagram));
}

std::vector<std::byte> VirtualSocket::buffer(ByteView content) {
    std::vector<std::byte> made;
    if (!spare_.empty()) {
        made = std::move(spare_.back());
        spare_.pop_back();
    }
    made.assign(content.begin(), content.end());
    return made;
}

void VirtualSocket::inject(std::vector<std::byte> datagram, const Address& from, Time due) {
    put({.bytes = std::move(datagram), .lent = {}, .from = from, .due = due});
}

void VirtualSocket::put(Datagram datagram) {
    const Time due = datagram.due;
    datagram.stamp = due + world_.uniform(stamp_noise);
    auto at = inbox_.end();
    while (at != inbox_.begin() && std::prev(at)->due > due) --at;
    inbox_.insert(at, std::move(datagram));
    owner_.arrivals().set(due);
}

// What a kernel refers to in place of taking a copy.
void VirtualSocket::read_again(Datagram& datagram) {
    const auto text = datagram.bytes.begin() + ports::kHeaderBytes;
    const ByteView now = datagram.lent;
    if (!std::equal(now.begin(), now.end(), text)) ++path_.counters.changed;
    std::copy(now.begin(), now.end(), text);
}

// Nobody has read since these arrived, so the first ones have the room.
void VirtualSocket::overflow() {
    std::size_t left = buffer_bytes * 3 / 2;
    auto at = inbox_.begin();
    for (; at != inbox_.end() && at->due <= world_.now(); ++at) {
        const std::size_t counted = counted_bytes(at->bytes.size());
        if (counted > left) break;
        left -= counted;
    }
    const auto first = at;
    while (at != inbox_.end() && at->due <= world_.now()) ++at;
    dropped_ += static_cast<std::uint64_t>(at - first);
    inbox_.erase(first, at);
}

// As a kernel does that is told several places.
void VirtualSocket::scatter(ports::Arrival& arrival, ByteSpan& room, std::size_t each) {
    const ByteSpan own = room.first(std::min(each, room.size()));
    room = room.subspan(own.size());
    if (arrival.bytes.size() <= ports::kHeaderBytes) return;
    const ByteSpan rest = arrival.bytes.subspan(ports::kHeaderBytes);
    ++path_.counters.apart;
    arrival.apart = own.first(std::min(own.size(), rest.size()));
    std::copy_n(rest.begin(), arrival.apart.size(), arrival.apart.begin());
    std::copy(rest.begin() + arrival.apart.size(), rest.end(), rest.begin());
    arrival.bytes = arrival.bytes.first(arrival.bytes.size() - arrival.apart.size());
}

std::span<ports::Arrival> VirtualSocket::receive(const ports::TextPlaces& places) {
    for (auto& bytes : taken_) {
        if (spare_.size() < kSpareBuffers) spare_.push_back(std::move(bytes));
    }
    taken_.clear();
    taken_.reserve(arrivals_.size());
    if (overflows) overflow();
    const Duration clock_ahead = owner_.now() - world_.now();
    std::size_t count = 0;
    ByteSpan room = places.room;
    const bool scatters = !room.empty();
    while (count < std::min(arrivals_.size(), places.most) && !(scatters && room.empty()) &&
           !inbox_.empty() && inbox_.front().due <= world_.now()) {
        if (!inbox_.front().lent.empty()) read_again(inbox_.front());
        taken_.push_back(std::move(inbox_.front().bytes));
        arrivals_[count++] = {taken_.back(), inbox_.front().from,
                              inbox_.front().stamp + clock_ahead};
        if (scatters) scatter(arrivals_[count - 1], room, places.each);
        inbox_.pop_front();
    }
    return std::span(arrivals_).first(count);
}

}  // namespace lambda::simulation
