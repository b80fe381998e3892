#include "common/sabul/send_flow.h"

#include <algorithm>
#include <utility>

#include "common/base/assert.h"

namespace lambda::sabul {
namespace {

void append_merged(std::vector<Range>& ranges, const SentPacket& packet) {
    const Range range{packet.place, packet.place + packet.bytes};
    if (!ranges.empty() && ranges.back().last == range.first) {
        ranges.back().last = range.last;
    } else {
        ranges.push_back(range);
    }
}

bool tells_places(const SentPacket& packet) {
    return packet.type == PacketType::data && !packet.copy;
}

// By how much an absolute count rose; one that fell was told by a record that came late.
std::uint64_t rise(std::uint64_t& count, std::uint64_t told) {
    const std::uint64_t more = told > count ? told - count : 0;
    count += more;
    return more;
}

}  // namespace

SendFlow::SendFlow(PacketNumber first) : ring_(1024), first_(first), next_(first), told_(first) {}

PacketNumber SendFlow::record(const SentPacket& packet) {
    if (next_ - first_ == ring_.size()) grow();
    entry(next_) = Entry{packet, true};
    ++open_packets_;
    open_bytes_ += packet.wire_bytes;
    untold_bytes_ += packet.wire_bytes;
    return next_++;
}

void SendFlow::grow() {
    std::vector<Entry> larger(ring_.size() * 2);
    for (PacketNumber number = first_; number < next_; ++number) {
        larger[number & (larger.size() - 1)] = entry(number);
    }
    ring_ = std::move(larger);
}

void SendFlow::burn_from(PacketNumber first) {
    for (PacketNumber number = std::max(first, first_); number < next_; ++number) {
        Entry& burned = entry(number);
        if (!burned.open) continue;
        burned.open = false;
        --open_packets_;
        open_bytes_ -= burned.packet.wire_bytes;
    }
    close_prefix();
}

std::vector<Range> SendFlow::places_from(PacketNumber first) {
    std::vector<Range> places;
    for (PacketNumber number = std::max(first, first_); number < next_; ++number) {
        const Entry& sent = entry(number);
        if (sent.open && tells_places(sent.packet)) append_merged(places, sent.packet);
    }
    return places;
}

const FlowNews* SendFlow::handle_ack(const Ack& ack, Time now) {
    if (ack.largest > next_) return nullptr;
    begin_news();
    news_.late_packets = rise(late_, ack.late);
    news_.arrived_packets = rise(arrived_packets_, ack.packets);
    news_.arrived_bytes = rise(arrived_bytes_, ack.bytes);
    if (ack.largest > 0) {
        const PacketNumber last = ack.largest - 1;
        for (std::size_t i = 0; i < ack.sample_count; ++i) {
            const PacketNumber number = last - ack.samples[i].back;
            if (number < first_ || number >= next_) continue;  // its departure is forgotten
            const Passage passage{entry(number).packet.sent,
                                  std::chrono::microseconds(ack.samples[i].time_us)};
            news_.passages[news_.passage_count++] = passage;
        }
        if (ack.largest > told_) {
            const Duration round = now - entry(last).packet.sent;
            news_.latest_rtt = std::max(round - std::chrono::microseconds(ack.hold_us), kLeastRtt);
            rtt_.add(now, news_.latest_rtt, entry(last).packet.sent);
        }
        tell(ack.largest);
    }
    for (PacketNumber number = first_; number < ack.cumulative; ++number) receive(entry(number));
    close_prefix();
    return &news_;
}

const FlowNews* SendFlow::handle_nak(const std::vector<Range>& numbers) {
    if (numbers.back().last > next_) return nullptr;
    begin_news();
    for (const Range& range : numbers) {
        for (PacketNumber number = std::max(range.first, first_); number < range.last; ++number) {
            lose(number, entry(number));
        }
    }
    close_prefix();
    while (settled_above() > kMaxSettledAbove) {
        lose(first_, entry(first_));
        close_prefix();
    }
    return &news_;
}

const FlowNews* SendFlow::handle_snapshot(const Snapshot& snapshot) {
    if (snapshot.next > next_) return nullptr;
    begin_news();
    for (PacketNumber number = first_; number < snapshot.next; ++number) {
        Entry& sent = entry(number);
        if (snapshot.received(number).value_or(false)) {
            receive(sent);
        } else {
            lose(number, sent);
        }
    }
    close_prefix();
    return &news_;
}

const FlowNews& SendFlow::abandon() {
    begin_news();
    for (PacketNumber number = first_; number < next_; ++number) lose(number, entry(number));
    close_prefix();
    return news_;
}

void SendFlow::begin_news() {
    std::vector<Range> received = std::move(news_.received), lost = std::move(news_.lost);
    received.clear();
    lost.clear();
    news_ = FlowNews{};
    news_.received = std::move(received);
    news_.lost = std::move(lost);
}

void SendFlow::receive(Entry& sent) {
    if (!sent.open) return;
    sent.open = false;
    --open_packets_;
    open_bytes_ -= sent.packet.wire_bytes;
    news_.largest_received_wire = std::max(news_.largest_received_wire, sent.packet.wire_bytes);
    if (sent.packet.type != PacketType::data) return;
    ++news_.received_packets;
    news_.received_bytes += sent.packet.bytes;
    if (tells_places(sent.packet)) append_merged(news_.received, sent.packet);
}

void SendFlow::lose(PacketNumber number, Entry& sent) {
    if (!sent.open) return;
    sent.open = false;
    --open_packets_;
    open_bytes_ -= sent.packet.wire_bytes;
    if (sent.packet.type == PacketType::probe) news_.probe_lost = true;
    if (sent.packet.type != PacketType::data) return;
    if (news_.lost_packets++ == 0 || number < news_.lowest_lost) {
        news_.lowest_lost = number;
        news_.first_lost_sent = sent.packet.sent;
    }
    news_.last_lost_sent = std::max(news_.last_lost_sent, sent.packet.sent);
    news_.shortest_lost_wire = news_.shortest_lost_wire == 0
                                   ? sent.packet.wire_bytes
                                   : std::min(news_.shortest_lost_wire, sent.packet.wire_bytes);
    if (tells_places(sent.packet)) append_merged(news_.lost, sent.packet);
}

void SendFlow::close_prefix() {
    PacketNumber first = first_;
    while (first < next_ && !entry(first).open) ++first;
    tell(first);
    first_ = first;
}

void SendFlow::tell(PacketNumber next) {
    for (; told_ < next; ++told_) untold_bytes_ -= entry(told_).packet.wire_bytes;
}

}  // namespace lambda::sabul
