// SendSide: what comes back from the receiver: acknowledgements and losses, records, and addresses.
#include "common/engine/end.h"
#include "common/engine/send_side.h"

namespace lambda::engine {
namespace {

Error nonsense() {
    return Error{.fault = Fault::protocol,
                 .message = "the receiver sent a record that makes no sense",
                 .path = {},
                 .side = Side::remote,
                 .remedy = "use the same version at both ends"};
}

}  // namespace

void SendSide::on_link(std::uint16_t index, bool) {
    set_.on_links_changed();
    stripes_[index]->last_received = now_;
}

void SendSide::on_link_lost(std::uint16_t index) {
    set_.on_links_changed();
    give_up(*stripes_[index]);
}

// What the stripe had under way goes to the others.
void SendSide::give_up(SendStripe& stripe) {
    // What waits for the socket has numbers that count as lost now; it must not go out any more.
    stripe.burst.clear();
    apply(stripe, stripe.flow.abandon());
    if (stripe.block) orphans_.push_back(*stripe.block);
    stripe.block.reset();
}

bool SendSide::on_frame(std::uint16_t index, const sabul::Frame& frame) {
    SendStripe& stripe = *stripes_[index];
    switch (static_cast<sabul::FrameType>(frame.type)) {
        case sabul::FrameType::ack:
            return handle_ack(stripe, frame.body);
        case sabul::FrameType::nak:
            return handle_nak(stripe, frame.body);
        case sabul::FrameType::snapshot:
            return handle_snapshot(stripe, frame.body);
        case sabul::FrameType::stream:
        case sabul::FrameType::stream_ack:
            return set_.handle_frame(frame);
        case sabul::FrameType::state:
            return true;
        case sabul::FrameType::spent:
            return sabul::parse_spent(frame.body, far_.values());
    }
    return true;
}

bool SendSide::handle_ack(SendStripe& stripe, ByteView body) {
    const auto ack = sabul::parse_ack(body);
    if (!ack) return false;
    const sabul::FlowNews* news = stripe.flow.handle_ack(*ack, now_);
    if (news == nullptr) return false;
    credit_ = std::max(credit_, ack->credit);
    stripe.peer_refused = ack->refused;
    if (stripe.peer_buffer != ack->buffer) {
        stripe.peer_buffer = ack->buffer;
        const std::size_t most = setup_.terms.payload + sabul::kHeaderBytes + stripe.tag_bytes();
        stripe.probe.allow(std::min(most, stripe.peer_room().datagram()));
    }
    links_.set_patience(stripe.index, stripe.flow.rtt().smoothed());
    apply(stripe, *news);
    rate_.on_ack(stripe.index, stripe.flow, *news, now_);
    queue_.add(stripe.flow.rtt());
    return true;
}

bool SendSide::handle_nak(SendStripe& stripe, ByteView body) {
    const auto ranges = sabul::parse_nak(body);
    if (!ranges) return false;
    const sabul::FlowNews* news = stripe.flow.handle_nak(*ranges);
    if (news == nullptr) return false;
    apply(stripe, *news);
    rate_.on_loss(stripe.index, stripe.flow, *news, now_);
    if (news->lost_packets > 0) queue_.add_at_loss(stripe.flow.rtt());
    return true;
}

bool SendSide::handle_snapshot(SendStripe& stripe, ByteView body) {
    const auto snapshot = sabul::parse_snapshot(body);
    if (!snapshot) return false;
    const sabul::FlowNews* news = stripe.flow.handle_snapshot(*snapshot);
    if (news == nullptr) return false;
    apply(stripe, *news);
    return true;
}

void SendSide::apply(SendStripe& stripe, const sabul::FlowNews& news) {
    for (const Range& places : news.received) source_.resolve(places);
    for (const Range& places : news.lost) resends_.lose(places);
    stripe.acked_bytes += news.received_bytes;
    stripe.told_lost += news.lost_packets;
    stripe.late += news.late_packets;
    if (news.largest_received_wire > 0) {
        stripe.probe.received(news.largest_received_wire, now_);
        stripe.ping_pause = Duration{0};
        stripe.last_received = now_;
        stripe.suspended = false;
    }
    if (news.received_packets > 0) last_progress_ = now_;  // a ping that is heard is none
    if (news.probe_lost) stripe.probe.probe_lost();
    if (news.lost_packets > 0) {
        stripe.probe.lost(news.shortest_lost_wire, now_, stripe.flow.rtt().smoothed());
    }
}

bool SendSide::handle_records() {
    int taken = 0;
    for (; taken < kRecordsPerTurn && may_tell(); ++taken) {
        const auto record = set_.next();
        if (!record) break;
        last_progress_ = now_;
        handle_record(*record);
        if (done_) return false;
    }
    if (set_.broken() || set_.flooded()) cut(nonsense());
    return taken == kRecordsPerTurn;
}

void SendSide::handle_record(const transfer::Record& record) {
    if (const auto* done = std::get_if<transfer::DoneRecord>(&record)) {
        source_.handle_done(*done);
    } else if (const auto* refuse = std::get_if<transfer::RefuseRecord>(&record)) {
        source_.handle_refuse(*refuse);
    } else if (const auto* again = std::get_if<transfer::AgainRecord>(&record)) {
        if (!source_.handle_again(*again)) cut(nonsense());
    } else if (std::holds_alternative<transfer::NothingRecord>(record)) {
        source_.handle_nothing();
    } else if (const auto* have = std::get_if<transfer::HaveRecord>(&record)) {
        if (!source_.handle_have(*have)) cut(nonsense());
    } else if (std::holds_alternative<transfer::ComparedRecord>(record)) {
        if (!source_.handle_compared()) cut(nonsense());
    } else if (const auto* want = std::get_if<transfer::WantRecord>(&record)) {
        if (!handle_want(*want)) cut(nonsense());
    } else if (const auto* walk = std::get_if<transfer::WalkRecord>(&record)) {
        if (setup_.is_client || walk_set_) return cut(nonsense());
        if (walk->links == ports::Links::follow && !setup_.may_follow) {
            return cut(beyond_grant("following links was not granted"));
        }
        if (walk->archive && !setup_.may_archive)
            return cut(beyond_grant("owners and extended attributes were not granted"));
        set_walk(*walk);
    } else if (std::holds_alternative<transfer::WantEndRecord>(record)) {
        wants_done_ = true;
    } else if (const auto* end_of_set = std::get_if<transfer::SetDoneRecord>(&record)) {
        if (!source_.settled()) return cut(nonsense());
        outcome_.unowned = end_of_set->unowned;
        outcome_.failed = std::max(outcome_.failed, end_of_set->failed);
        source_.resolve_all();
        frame_.clear();
        if (!setup_.is_client) sabul::append_spent(frame_, figures().values());
        set_.end(links_, frame_);
        end();
    } else if (!handle_standing(record)) {
        cut(nonsense());
    }
}

// ---- datagrams that come back: addresses

bool SendSide::receive_datagrams(ports::DatagramSocket& socket) {
    // One batch a turn: a flood of strangers' datagrams may not hold up the transfer.
    const std::span<const ports::Arrival> arrivals = socket.receive({});
    if (setup_.is_client) return !arrivals.empty();
    bool moved = false;
    for (const ports::Arrival& each : arrivals)
        moved = addresses_.take(each, stripes_, now_) || moved;
    if (moved) find_sockets();
    return !arrivals.empty();
}

}  // namespace lambda::engine
