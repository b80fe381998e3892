#include "common/engine/send_side.h"

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"

namespace lambda::engine {
namespace {

constexpr std::size_t kBurstsPerTurn = 32;
// Pieces of what lies in memory, each copied once all before it was sent.
constexpr unsigned kCopiesPerTurn = 8;
constexpr Duration kHeartbeat = std::chrono::milliseconds(250);
// A round trip that moves all the time, as on a busy host, is told so often.
constexpr Duration kStatePause = std::chrono::milliseconds(50);
constexpr Duration kLongestPing = std::chrono::seconds(1);
// A stripe whose packets nobody acknowledges for so long sends pings alone until one is.
constexpr Duration kDeadPath = std::chrono::seconds(5);
// Of a least round trip, what two hosts take of it where there is no path at all.
constexpr Duration kHosts = std::chrono::microseconds(250);
// Of fewer round trips all may be theirs.
constexpr std::uint64_t kFewRounds = 4;

// Of a path whose first hop refuses even packets that any path may be taken to carry.
Error narrow_hop(std::size_t datagram_bytes) {
    return Error{.fault = Fault::cut,
                 .message = "the first hop of the path does not carry UDP packets of " +
                            std::to_string(datagram_bytes) + " bytes: its MTU is too small",
                 .path = {},
                 .side = Side::local,
                 .remedy =
                     "give the interface towards the other host an MTU of 1280 or more, or use a "
                     "smaller --payload"};
}

}  // namespace

SendSide::SendSide(Setup setup, Time now)
    : setup_(std::move(setup)),
      now_(now),
      links_(*setup_.feedback, setup_.terms.stripes, setup_.is_client),
      offering_(*setup_.walker, set_.out(), setup_.content_reader, setup_.changes),
      source_(*setup_.disk, offering_, set_.out(), setup_.terms.block,
              {.on_failure =
                   [this](transfer::Source::Failure failure) {
                       outcome_.add_failure(std::move(failure.name), std::move(failure.error));
                   },
               .on_skip =
                   [this](const transfer::SkipRecord& skip) {
                       outcome_.add_skip(skip.name, skip.why);
                   }}),
      rate_(setup_.terms, setup_.seed, now),
      burst_room_(Burst::kMaxBytes),
      patience_at_(now + kPatience),
      disk_watch_(now),
      motion_(now),
      last_progress_(now),
      meter_(*setup_.clock),
      addresses_(setup_.peer, setup_.fill_random) {
    LAMBDA_ASSERT(setup_.ciphers.size() == setup_.terms.stripes && !setup_.sockets.empty());
    for (std::uint16_t i = 0; i < setup_.terms.stripes; ++i) {
        stripes_.push_back(std::make_unique<SendStripe>(i, setup_, burst_room_.data()));
    }
    find_sockets();
    for (transfer::SourceName& name : setup_.sources) keep_name(std::move(name));
    setup_.sources.clear();
    wants_done_ = setup_.is_client;
    if (setup_.terms.sha256) {
        source_.set_strong();
        offering_.set_strong();
    }
    set_.watch(setup_.records);
    if (setup_.is_client) source_.keep_names_done(setup_.keep_names);
    if (setup_.is_client) set_plan();
    if (setup_.is_client) set_walk(setup_.walk);
    outcome_.stripes.resize(stripes_.size());
    if (setup_.keep_series) outcome_.series = Series(stripes_.size(), setup_.terms.syn);
}

Time SendSide::turn(Time now) {
    now_ = now;
    if (done_) return kNever;
    meter_.begin_turn(now);
    links_.poll(now, *this);
    bool heard = handle_records();  // there may be more of that
    if (done_) return kNever;       // nothing more goes to it
    for (ports::DatagramSocket* socket : setup_.sockets)
        heard = receive_datagrams(*socket) || heard;
    take_disk_events();
    source_.handled_all();
    feed_walker();
    compare();
    source_.turn();
    if (setup_.most_bytes && source_.totals().bytes_announced > *setup_.most_bytes) {
        cut(beyond_grant("there is more to send than was granted"));
        return kNever;
    }
    if (now >= rate_.next_tick()) {
        rate_.tick(now, static_cast<double>(stripes_[0]->payload(setup_.terms, rate_.rate(0))),
                   credit_limited_);
        credit_limited_ = false;
        sample(now);
    }
    bool more = send_some();
    if (!more) take_disk_events();  // what turn() copied
    for (unsigned copies = 0; !more && copies < kCopiesPerTurn && source_.copy_wanted(); ++copies) {
        take_disk_events();
        more = send_some();
    }
    rate_.end_turn();
    for (const auto& stripe : stripes_) maintain(*stripe);
    set_.pump(links_, !more);
    // Slots that acknowledgements freed are read into at once.
    source_.turn();
    setup_.disk->submit();
    check_stall();
    if (done_) return kNever;
    tell_spent();
    if (!more) meter_waits();
    const Time next = more || heard || source_.digesting() ? now : next_time();
    meter_.end_turn(next);
    return next;
}

void SendSide::cut(const Error& why) {
    if (done_) return;
    outcome_.cut = why;
    end();
}

void SendSide::end() {
    outcome_.transfer_seconds = first_sent_ == kNever ? 0 : seconds(now_ - first_sent_);
    meter_.stop(now_);
    done_ = true;
}

// ---- data

void SendSide::take_disk_events() {
    for (ports::DiskEvent& event : setup_.disk->poll()) {
        source_.handle(std::move(event));
        ++disk_events_;
    }
}

bool SendSide::send_some() {
    for (const auto& stripe : stripes_) {  // what a full socket did not take
        if (!stripe->burst.empty() && may_send(*stripe)) flush(*stripe);
    }
    // Each stripe in its turn, so that equal stripes carry equal shares.
    std::size_t idle = 0;
    look_at_stripes();
    for (std::size_t bursts = 0; bursts < kBurstsPerTurn && idle < stripes_.size();) {
        SendStripe& stripe = *stripes_[next_stripe_];
        const bool sent = send_on(stripe);
        if (sent) look_at_stripes();
        const bool keeps = keeps_turn(stripe);
        if (!sent && keeps) return false;
        if (!keeps) next_stripe_ = (next_stripe_ + 1) % stripes_.size();
        if (sent) {
            ++bursts;
            idle = 0;
        } else {
            ++idle;
        }
    }
    return idle < stripes_.size();
}

void SendSide::find_sockets() {
    std::vector<Address> ends;
    for (const auto& stripe : stripes_) ends.push_back(stripe->peer);
    sockets_.set_ends(ends);
    for (const auto& stripe : stripes_) stripe->stripes_on_socket = sockets_.sharing(stripe->index);
}

// On paths that hold less than the receiver's socket all stripes share one socket's worth, or that
// of a few small ones (buffer_room). Where such paths are fast enough, one stripe after the other
// has a whole block: what is under way is one stripe's then, and one tells what became of it. Few
// blocks are in hand at either end, which the processors' caches hold. Slower, a law that measures
// over some SYNs would see stripes that stand still.
void SendSide::look_at_stripes() {
    const Duration syn = setup_.terms.syn;
    open_all_ = 0;
    sockets_.clear();
    short_paths_ = true;
    for (const auto& stripe : stripes_) {
        open_all_ += stripe->flow.open_bytes();
        if (!may_send(*stripe) || !heard(*stripe)) continue;
        sockets_.add(stripe->index, stripe->flow.untold_bytes(), stripe->peer_room());
        short_paths_ = short_paths_ && stripe->flow.rtt().known() && stripe->short_path(syn);
    }
    const BitRate rate = rate_.rate();
    block_by_block_ =
        rate_.shared_window() && short_paths_ && rate.bits_per_second > 0 &&
        rate.time_for(static_cast<double>(stripes_.size() * setup_.terms.block)) <= 2 * syn;
}

bool SendSide::keeps_turn(const SendStripe& stripe) {
    return block_by_block_ && !resends_.any_lost() && may_send(stripe) && stripe.burst.empty() &&
           heard(stripe) && stripe.flow.untold_bytes() < stripe.buffer_limit() &&
           begun(stripe.block) != nullptr;
}

bool SendSide::may_send(const SendStripe& stripe) const {
    return stripe.peer.set() && links_.alive(stripe.index) && !stripe.suspended;
}

bool SendSide::heard(const SendStripe& stripe) const {
    return now_ - stripe.last_received <= 4 * setup_.terms.syn;
}

std::size_t SendSide::room(const SendStripe& stripe) const {
    const auto used =
        static_cast<double>(rate_.shared_window() ? open_all_ : stripe.flow.open_bytes());
    double window = rate_.window(stripe.index);
    if (setup_.terms.window > 0) {
        window = std::min(window,
                          static_cast<double>(setup_.terms.window) /
                              (rate_.shared_window() ? 1.0 : static_cast<double>(stripes_.size())));
    }
    if (used >= window) return 0;
    return buffer_room(stripe);
}

// No more than one socket's worth, or that of a few small ones, whatever the stripes. A silent
// stripe has no part in it.
std::size_t SendSide::buffer_room(const SendStripe& stripe) const {
    if (!stripe.short_path(setup_.terms.syn)) return SIZE_MAX;
    // What the path itself holds is in no socket. Of a round trip within one machine all may be: no
    // more of that than half of what the limit leaves of the socket. Datagrams that are long come
    // by no path to speak of, however late a scheduler is with them.
    const sabul::RttEstimator& rtt = stripe.flow.rtt();
    const Duration round = rtt.known() ? rtt.minimum() : Duration{};
    const Duration hosts = rtt.rounds() < kFewRounds ? round : std::min(round, kHosts);
    const auto carried = [&](Duration time) {
        return static_cast<std::size_t>(rate_.rate(stripe.index).bytes_per_second() *
                                        seconds(time));
    };
    const std::size_t under_way =
        std::min(carried(hosts), stripe.peer_buffer / 8 / stripe.stripes_on_socket) +
        (stripe.peer_room().small() ? 0 : carried(round - hosts));
    const std::size_t untold = stripe.flow.untold_bytes();
    const std::size_t limit = stripe.buffer_limit() + under_way;
    if (untold >= limit) return 0;
    const std::size_t least = 2 * stripe.probe.size();
    const std::size_t own =
        std::min(limit - untold, sockets_.left(stripe.index, stripe.peer_room(), under_way, least));
    if (!rate_.shared_window() || !short_paths_) return own;
    return std::min(own, sockets_.left_together(under_way, least));
}

bool SendSide::send_on(SendStripe& stripe) {
    if (!may_send(stripe)) return false;
    if (!stripe.burst.empty()) return false;  // send_some has tried
    const std::size_t space = room(stripe);
    if (space == 0) return false;
    now_ = setup_.clock->now();
    const std::size_t payload = stripe.payload(setup_.terms, rate_.rate(stripe.index));
    const std::size_t budget = rate_.budget(stripe.index, now_, payload);
    if (budget == 0 || !fill(stripe, std::min(budget, space))) return false;
    stripe.burst.seal(*stripe.ciphers.data);
    return flush(stripe);
}

// Packets up to `space` file bytes, at least one. False: there is nothing to send.
bool SendSide::fill(SendStripe& stripe, std::size_t space) {
    std::size_t payload = stripe.payload(setup_.terms, rate_.rate(stripe.index));
    const std::size_t overhead = sabul::kHeaderBytes + stripe.tag_bytes();
    const std::size_t most = std::min(stripe.socket.max_segments(), Burst::kMaxPackets);
    // On a path that damaged one, in spite of UDP's checksum, a packet is to be refused by itself.
    const bool trusts = source_.totals().leaves_again == 0;
    while (stripe.burst.packets() < most && stripe.burst.takes(payload + overhead) &&
           (stripe.burst.empty() || stripe.burst.file_bytes() < space)) {
        Sending how = Sending::fresh;
        const auto cut = next_cut(stripe, payload, how);
        if (!cut) break;
        stripe.add_packet(sabul::PacketType::data, *cut,
                          {.copy = how == Sending::copy, .bare = how == Sending::fresh && trusts},
                          now_);
        if (how != Sending::fresh) ++stripe.retransmitted;
        const std::size_t text = cut->bytes.size() + cut->digest.size();
        // A packet that is far from full sets the size of the burst: only what such a one takes
        // whole may follow.
        if (text < payload / 2 && !whole_follows(stripe, text)) break;
        payload = text;
    }
    return !stripe.burst.empty();
}

// Whether the next that the stripe has to send is the end of a leaf, of at most `text` bytes: a
// small file behind another one.
bool SendSide::whole_follows(const SendStripe& stripe, std::size_t text) {
    if (resends_.any_lost()) return false;
    const transfer::SendBlock* block = begun(stripe.block);
    return block != nullptr && block->leaf_read() && block->text_left() <= text;
}

// The block of that index, where some of it was sent and some was not. One of the same index that
// the receiver asked for since is not begun before take_ready() has given it.
transfer::SendBlock* SendSide::begun(std::optional<std::uint64_t> index) {
    transfer::SendBlock* block = index ? source_.find(*index) : nullptr;
    return block != nullptr && block->opened && !block->all_sent() ? block : nullptr;
}

std::optional<transfer::Cut> SendSide::next_cut(SendStripe& stripe, std::size_t payload,
                                                Sending& how) {
    if (const auto cut = resends_.next_lost(source_, payload)) {
        how = Sending::again;
        resends_.copy({cut->place, cut->place + cut->bytes.size()}, times_again() - 1);
        return cut;
    }
    transfer::SendBlock* block = begun(stripe.block);
    if (block == nullptr) {
        block = next_block();
        stripe.block.reset();
        if (block == nullptr) {
            how = Sending::copy;
            return copies_wanted() ? resends_.next_copy(source_, payload) : std::nullopt;
        }
        stripe.block = block->index;
    }
    return source_.cut_fresh(*block, payload);
}

// Nothing fresh goes before what is under way has arrived. A disk that is slow gives more by
// itself.
bool SendSide::copies_wanted() const {
    return source_.lack() != transfer::Source::Lack::disk;
}

unsigned SendSide::times_again() const {
    std::uint64_t lost = 0, sent = 0;
    for (const auto& stripe : stripes_) {
        lost += stripe->lost();
        sent += stripe->packets;
    }
    return Resends::times(lost, sent);
}

transfer::SendBlock* SendSide::next_block() {
    while (!orphans_.empty()) {
        transfer::SendBlock* block = begun(orphans_.back());
        orphans_.pop_back();
        if (block != nullptr) return block;
    }
    transfer::SendBlock* block = source_.take_ready(credit_);
    credit_limited_ = credit_limited_ || (block == nullptr && source_.ready_waits());
    return block;
}

bool SendSide::has_data(const SendStripe& stripe) {
    if (resends_.any_lost() || (resends_.any_copy() && copies_wanted())) return true;
    const transfer::SendBlock* block = begun(stripe.block);
    const bool is_there = block != nullptr
                              ? block->fills(stripe.payload(setup_.terms, rate_.rate(stripe.index)))
                              : !orphans_.empty() || source_.can_take(credit_);
    return is_there || source_.can_copy();
}

bool SendSide::flush(SendStripe& stripe) {
    Burst& burst = stripe.burst;
    switch (stripe.socket.send(burst.parts(), burst.segment_bytes(), burst.text(), stripe.peer)) {
        case ports::SendOutcome::would_block:
            burst.keep();
            return false;
        case ports::SendOutcome::too_large:
            if (burst.segment_bytes() <= sabul::PathProbe::kBase) {
                cut(narrow_hop(burst.segment_bytes()));
                return false;
            }
            stripe.probe.too_large(burst.segment_bytes());
            take_back(stripe);
            return true;
        case ports::SendOutcome::unsegmented:
            take_back(stripe);
            return true;
        case ports::SendOutcome::refused:  // the receiver is gone or its port closed: feedback will
                                           // tell
        case ports::SendOutcome::sent:
            break;
    }
    if (burst.file_bytes() > 0 && first_sent_ == kNever) {
        first_sent_ = now_;
        meter_.start(now_);
    }
    if (burst.file_bytes() > 0) {
        stripe.packets += burst.packets();
        stripe.bytes += burst.file_bytes();
        rate_.on_sent(stripe.index, burst.packets(), burst.file_bytes());
    }
    stripe.last_sent = now_;
    burst.clear();
    return true;
}

// Nothing of its burst left. The numbers are burned, the places go again in other packets, and no
// law hears of it.
void SendSide::take_back(SendStripe& stripe) {
    for (const Range& places : stripe.flow.places_from(stripe.burst.first_number()))
        resends_.lose(places);
    stripe.flow.burn_from(stripe.burst.first_number());
    stripe.burst.clear();
}

// Probes, pings and heartbeats.
void SendSide::maintain(SendStripe& stripe) {
    if (links_.ready(stripe.index)) {
        const sabul::RttEstimator& rtt = stripe.flow.rtt();
        const auto rtt_us =
            rtt.known() ? static_cast<std::uint32_t>(rtt.smoothed().count() / 1000) : 0;
        const std::uint32_t moved =
            rtt_us > stripe.told_rtt_us ? rtt_us - stripe.told_rtt_us : stripe.told_rtt_us - rtt_us;
        const Duration silent = now_ - stripe.last_state;
        const bool first = rtt.known() && stripe.told_rtt_us == 0;
        const bool news = rtt.known() && moved > stripe.told_rtt_us / 8 + 100;
        // The first round trip may be long for the hosts alone, and the receiver's ACKs go by it.
        const bool shorter = rtt.known() && rtt_us < stripe.told_rtt_us / 2;
        if (first || shorter || silent >= kHeartbeat || (news && silent >= kStatePause)) {
            frame_.clear();
            sabul::append_state(frame_, {rtt_us, stripe.flow.next_number()});
            links_.send(stripe.index, frame_);
            stripe.last_state = now_;
            stripe.told_rtt_us = rtt_us;
        }
    }
    if (!stripe.peer.set() || !links_.alive(stripe.index) || !stripe.burst.empty()) return;
    const auto probe = stripe.probe.next_probe(now_, stripe.flow.rtt().smoothed());
    if (probe) {
        stripe.send_alone(sabul::PacketType::probe,
                          *probe - sabul::kHeaderBytes - stripe.tag_bytes(), {}, stripe.peer, now_);
        return;
    }
    if (stripe.flow.open_packets() == 0) stripe.last_received = now_;
    const Duration patience = std::max<Duration>(kDeadPath, 8 * stripe.flow.rtt().smoothed());
    if (now_ - stripe.last_received > patience && !stripe.suspended) {
        stripe.suspended = true;
        give_up(stripe);
    }
    if (stripe.flow.open_packets() == 0 && !stripe.suspended) return;
    const Duration pause =
        std::max(stripe.ping_pause, setup_.terms.syn + stripe.flow.rtt().smoothed());
    if (now_ - stripe.last_sent < pause) return;
    stripe.ping_pause = std::min(2 * pause, kLongestPing);
    stripe.send_alone(sabul::PacketType::ping, 0, {}, stripe.peer, now_);
}

Time SendSide::next_time() {
    Time next = std::min({rate_.next_tick(), links_.next_time(), now_ + kHeartbeat});
    const SendStripe& first = *stripes_[next_stripe_];
    const bool kept = keeps_turn(first);
    for (const auto& stripe : stripes_) {
        if (kept && stripe->index != first.index) continue;
        const bool wants_to_send =
            may_send(*stripe) && stripe->burst.empty() && room(*stripe) > 0 && has_data(*stripe);
        if (wants_to_send)
            next = std::min(next, std::max(rate_.ready_at(stripe->index, now_), now_));
    }
    return next;
}

void SendSide::check_stall() {
    if (const auto why = disk_watch_.stalled(now_)) return cut(*why);
    const auto why =
        stalled(links_, now_, last_progress_,
                unheard() ? "the receiver gets none of our UDP packets" : nullptr, standstill_);
    if (why) return cut(*why);
    const auto& totals = source_.totals();
    std::uint64_t lost = 0;
    for (const auto& stripe : stripes_) lost += stripe->told_lost;
    motion_.look(now_,
                 totals.bytes_acknowledged + totals.files_done + disk_events_ + offering_.looked() +
                     offering_.totals().adopted,
                 lost);
    standstill_ = motion_.stands(now_) ? why_nothing_moves() : std::string_view();
}

bool SendSide::unheard() const {
    return std::none_of(stripes_.begin(), stripes_.end(),
                        [](const auto& s) { return s->flow.rtt().known(); });
}

}  // namespace lambda::engine
