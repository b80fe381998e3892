#include "tools/lab/forwarder.h"

#include <sys/resource.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace lambda::lab {
namespace {

// Of one host before another has its turn.
constexpr int kMostReads = 32;
// Where the read begins in a burst's memory.
constexpr std::size_t kReadAt = offsetof(Burst, vnet);
constexpr std::size_t kReadBytes = sizeof(VnetHeader) + kMostPacketBytes;
constexpr std::size_t kNowhere = SIZE_MAX;

BitRate slowest(const LinkSpec& link, const PathSpec& path, bool forward) {
    BitRate rate = link.impairments.rate;
    for (const Change& change : path.timetable) {
        if (forward ? change.forward : change.backward) {
            rate = std::min(rate, change.rate.value_or(rate));
        }
    }
    return rate;
}

// The hosts' delays of each pair; a pair is left * (number of rights) + right.
std::vector<Duration> lanes(const PathSpec& path) {
    std::vector<Duration> delays;
    for (const HostSpec& left : path.hosts) {
        for (const HostSpec& right : path.hosts) {
            if (left.end == End::left && right.end == End::right) {
                delays.push_back(left.delay + right.delay);
            }
        }
    }
    return delays;
}

double own_cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto total = std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return seconds(total);
}

}  // namespace

Forwarder::Forwarder(Time now, const PathSpec& path, std::vector<Host>& hosts, Arena& arena,
                     std::uint64_t seed)
    : hosts_(hosts),
      arena_(arena),
      path_(path),
      forward_(now, path.forward, lanes(path), slowest(path.forward, path, true), seed * 2),
      backward_(now, path.backward, lanes(path), slowest(path.backward, path, false), seed * 2 + 1),
      scratch_(kReadBytes) {
    for (std::size_t i = 0; i < path.hosts.size(); ++i) {
        auto& those = path.hosts[i].end == End::left ? left_ : right_;
        places_.push_back(static_cast<std::uint8_t>(those.size()));
        those.push_back(static_cast<std::uint8_t>(i));
    }
    counters_.seed = seed;
}

void Forwarder::begin(Time now) {
    forward_.reset_counters(now);
    backward_.reset_counters(now);
    began_ = now;
    const std::uint64_t seed = counters_.seed;
    counters_ = Counters{};
    counters_.seed = seed;
    counters_.cpu_seconds = own_cpu_seconds();
    for (const Host& host : hosts_) {
        counters_.hosts.push_back({.name = host.spec.name,
                                   .address = host.address,
                                   .unfetched = unfetched_packets(host)});
    }
}

Counters Forwarder::counters(Time now) {
    Counters told = counters_;
    told.seconds = seconds(now - began_);
    told.cpu_seconds = own_cpu_seconds() - counters_.cpu_seconds;
    told.forward = forward_.counters(now);
    told.backward = backward_.counters(now);
    for (std::size_t i = 0; i < told.hosts.size(); ++i) {
        told.hosts[i].unfetched = unfetched_packets(hosts_[i]) - told.hosts[i].unfetched;
    }
    return told;
}

bool Forwarder::fetch(std::size_t from) {
    Tun& tun = hosts_[from].tun;
    for (int reads = 0; reads < kMostReads; ++reads) {
        std::byte* const place = arena_.room(sizeof(Burst) + kMostPacketBytes);
        const std::size_t got =
            tun.read(place != nullptr ? ByteSpan(place + kReadAt, kReadBytes) : scratch_);
        if (got == 0) return reads > 0;
        if (place == nullptr) {
            ++counters_.no_memory;
        } else if (got <= sizeof(VnetHeader)) {
            ++counters_.stray;
        } else {
            admit(from, place, got - sizeof(VnetHeader));
        }
    }
    return true;
}

// Offers each packet of what was read to its direction; what is not queued is forgotten at once.
void Forwarder::admit(std::size_t from, std::byte* place, std::size_t bytes) {
    VnetHeader vnet;
    std::memcpy(&vnet, place + kReadAt, sizeof vnet);
    Burst* const burst =
        new (place) Burst{.bytes = static_cast<std::uint32_t>(bytes), .vnet = vnet};
    const std::size_t to = host_at(destination(burst->content()));
    if (to == kNowhere || path_.hosts[to].end == path_.hosts[from].end || !describe(*burst)) {
        ++counters_.stray;
        return;
    }
    const bool forward = path_.hosts[from].end == End::left;
    Link& link = forward ? forward_ : backward_;
    FlowTable& flows = forward ? forward_flows_ : backward_flows_;
    const std::size_t left = places_[forward ? from : to], right = places_[forward ? to : from];
    Packet packet{.burst = burst,
                  .lane = static_cast<std::uint8_t>(left * right_.size() + right),
                  .to = static_cast<std::uint8_t>(to),
                  .flow = flows.number_of(burst->content())};
    const Time now = clock_.now();
    std::uint32_t queued = 0;
    unsigned end = 0;
    for (unsigned i = 0; i < burst->packets; ++i) {
        packet.index = static_cast<std::uint16_t>(i);
        packet.bytes = packet_bytes(*burst, i);
        if (link.offer(now, packet) != Fate::queued) continue;
        ++queued;
        end = i + 1;
    }
    // Of a burst whose end was dropped the bytes up to there are kept.
    std::size_t kept = burst->bytes;
    if (end < burst->packets) kept = burst->header_bytes + std::size_t{end} * burst->segment_bytes;
    arena_.hold(sizeof(Burst) + kept, queued);
}

std::size_t Forwarder::host_at(std::optional<HostNumber> number) const {
    if (!number || number->host == 0) return kNowhere;
    const auto* those = number->end == 1 ? &left_ : number->end == 2 ? &right_ : nullptr;
    if (those == nullptr || number->host > those->size()) return kNowhere;
    return (*those)[number->host - 1u];
}

void Forwarder::change_until(Time now) {
    while (const auto step = timetable_.take(now)) {
        if (step->change.forward) forward_.apply(step->at, step->change);
        if (step->change.backward) backward_.apply(step->at, step->change);
    }
}

void Forwarder::deliver() {
    change_until(clock_.now());
    deliver(forward_);
    deliver(backward_);
}

void Forwarder::deliver(Link& link) {
    Time now = clock_.now();
    while (const auto arrival = link.take(now)) {
        if (!extend(arrival->packet)) {
            if (run_.count > 0) {
                flush();
                now = clock_.now();
            }
            run_ = {.burst = arrival->packet.burst,
                    .first = arrival->packet.index,
                    .count = 1,
                    .to = arrival->packet.to};
        }
        counters_.lateness.add(now - arrival->due, 1);
        if (arrival->packet.twice) {
            write(run_);
            flush();
        }
    }
    if (run_.count > 0) flush();
}

bool Forwarder::extend(const Packet& packet) {
    const bool follows = run_.count > 0 && packet.burst == run_.burst && packet.to == run_.to &&
                         packet.index == run_.first + run_.count && !packet.twice;
    if (follows) ++run_.count;
    return follows;
}

void Forwarder::flush() {
    write(run_);
    arena_.release(run_.burst, run_.count);
    run_.count = 0;
}

void Forwarder::write(const Run& run) {
    alignas(VnetHeader) std::array<std::byte, sizeof(VnetHeader) + kMostHeaderBytes> header;
    const Cut cut = lab::cut(*run.burst, run.first, run.count, header);
    const std::array<iovec, 2> parts{
        {{header.data(), cut.header_bytes},
         {const_cast<std::byte*>(cut.payload.data()), cut.payload.size()}}};
    if (!hosts_[run.to].tun.write(parts)) ++counters_.refused;
}

Time Forwarder::next_due() const {
    return std::min({timetable_.next_at(), forward_.next_due(), backward_.next_due()});
}

}  // namespace lambda::lab
