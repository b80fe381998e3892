#include "common/engine/receive_side.h"

#include <algorithm>
#include <cstring>

#include "common/base/assert.h"

namespace lambda::engine {
namespace {

constexpr int kBatchesPerTurn = 4;
// A scheduler keeps us from a socket for so long without our being the bottleneck.
constexpr Duration kHostDelay = std::chrono::milliseconds(5);
constexpr Duration kFirstHello = std::chrono::milliseconds(100);
constexpr Duration kLongestHello = std::chrono::seconds(1);
constexpr Duration kKeepAlive = std::chrono::seconds(10);
// All is done, and the sender did not say that it heard so. Its connections may have to be dialled
// again for that, but it may also be gone.
constexpr Duration kLastWords = std::chrono::seconds(30);
constexpr std::size_t kMaxText = 65536;

}  // namespace

ReceiveSide::Stripe::Stripe(std::uint16_t number, const Setup& setup)
    : index(number),
      socket(*setup.sockets[number % setup.sockets.size()]),
      ciphers(setup.ciphers[number]),
      flow({.syn = setup.terms.syn,
            .buffer_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(
                setup.sockets[number % setup.sockets.size()]->receive_buffer_bytes(), UINT32_MAX)),
            .first = setup.first_number}),
      pace(setup.terms.syn) {
    if (setup.is_client) {
        peer = setup.peer;
        peer.port = setup.peer_ports[number % setup.peer_ports.size()];
    }
}

ReceiveSide::ReceiveSide(Setup setup, Time now)
    : setup_(std::move(setup)),
      now_(now),
      links_(*setup_.feedback, setup_.terms.stripes, setup_.is_client),
      comparison_({setup_.target_tree, setup_.content_reader}, set_.out(), setup_.target,
                  setup_.changes,
                  [this](const std::string& name, const Error& error) {
                      outcome_.add_failure(name, error);
                  }),
      sink_(*setup_.disk, set_.out(), setup_.target, setup_.terms.block,
            {.on_failure =
                 [this](transfer::Sink::Failure failure) {
                     outcome_.add_failure(std::move(failure.name), std::move(failure.error));
                 },
             .on_skip =
                 [this](const transfer::SkipRecord& skip) {
                     outcome_.add_skip(skip.name, skip.why);
                 }}),
      wants_(setup_.wants.begin(), setup_.wants.end()),
      wanted_(setup_.wants, setup_.walk),
      patience_at_(now + kPatience),
      disk_watch_(now),
      motion_(now),
      runs_(setup_.sockets.size()),
      scratch_(kMaxText),
      last_progress_(now),
      meter_(*setup_.clock) {
    LAMBDA_ASSERT(setup_.ciphers.size() == setup_.terms.stripes && !setup_.sockets.empty());
    for (std::uint16_t i = 0; i < setup_.terms.stripes; ++i) {
        stripes_.push_back(std::make_unique<Stripe>(i, setup_));
    }
    outcome_.stripes.resize(stripes_.size());
    if (setup_.is_client) sink_.keep_names_done(setup_.keep_names);
    if (setup_.terms.read_back) sink_.set_read_back();
    if (setup_.terms.sha256) {
        sink_.set_strong();
        comparison_.set_strong();
    }
    set_.watch(setup_.records);
    comparison_.set_done_before(setup_.done_before);
    if (!setup_.plan.is_default()) LAMBDA_ASSERT(set_plan(setup_.plan));
    if (setup_.keep_series) outcome_.series = Series(stripes_.size(), setup_.terms.syn);
}

Time ReceiveSide::turn(Time now) {
    now_ = now;
    if (done_) return kNever;
    meter_.begin_turn(now);
    links_.poll(now, *this);
    bool more = handle_records();
    if (done_) return kNever;  // nothing more is taken from it, or done for it
    for (std::size_t i = 0; i < setup_.sockets.size(); ++i) more = receive(i) || more;
    for (const ports::DiskEvent& event : setup_.disk->poll()) {
        sink_.handle(event);
        ++disk_events_;
        last_progress_ = now;
    }
    look();
    setup_.disk->submit();
    if (setup_.is_client && !want_end_sent_) ask();
    tell_credit();
    hurry_ack();
    for (const auto& stripe : stripes_) {
        greet(*stripe);
        acknowledge(*stripe);
    }
    tell_spent();
    sample();
    set_.pump(links_, !more);
    maybe_end();
    check_stall();
    if (done_) return kNever;
    if (!more && sink_.disk_holds()) meter_.waits_for(verdict::Figure::disk);
    const Time next = more ? now : next_time();
    meter_.end_turn(next);
    return next;
}

void ReceiveSide::cut(const Error& why) {
    if (done_) return;
    done_ = true;
    if (ended_ != kNever) return;  // nothing was left to do
    outcome_.cut = why;
    count_time();
}

void ReceiveSide::count_time() {
    outcome_.transfer_seconds = first_data_ == kNever ? 0 : seconds(now_ - first_data_);
    meter_.stop(now_);
}

// ---- feedback

void ReceiveSide::on_link(std::uint16_t index, bool again) {
    set_.on_links_changed();
    Stripe& stripe = *stripes_[index];
    if (again) {
        frame_.clear();
        sabul::append_snapshot(frame_, stripe.flow.take_snapshot(bitmap_));
        links_.send(index, frame_);
    }
    stripe.flow.ack_at_once();
    stripe.pace.renew();
}

void ReceiveSide::on_link_lost(std::uint16_t) {
    set_.on_links_changed();
}

bool ReceiveSide::on_frame(std::uint16_t index, const sabul::Frame& frame) {
    Stripe& stripe = *stripes_[index];
    switch (static_cast<sabul::FrameType>(frame.type)) {
        case sabul::FrameType::stream:
        case sabul::FrameType::stream_ack:
            return set_.handle_frame(frame);
        case sabul::FrameType::state: {
            const auto state = sabul::parse_state(frame.body);
            if (!state) return false;
            stripe.flow.handle_state(*state);
            links_.set_patience(index, stripe.flow.rtt());
            if (const auto by = links_.carriage(index)) stripe.pace.measured(*by);
            return true;
        }
        case sabul::FrameType::spent:
            return sabul::parse_spent(frame.body, far_.values());
        case sabul::FrameType::ack:
        case sabul::FrameType::nak:
        case sabul::FrameType::snapshot:
            return false;  // a receiver's words
    }
    return true;
}

// At what stands there; the set is done when nothing of that is left to do either.
void ReceiveSide::look() {
    // A disk may take long over one thing, and the sender must not take that for a standstill.
    disk_watch_.look(now_, sink_.disk_works() || comparison_.working(),
                     disk_events_ + comparison_.looked());
    // Nor that nobody reads what is told of a sync.
    if (comparison_.unread() || sink_.digesting() || disk_watch_.working(now_)) {
        last_progress_ = now_;
        if (now_ >= patience_at_) {
            comparison_.ask_for_patience();
            patience_at_ = now_ + kPatience;
        }
    }
    comparison_.turn(sink_.all_done());
    const auto& totals = comparison_.totals();
    sink_.turn(now_,
               {.over = comparison_.over(), .failed = totals.failed, .unowned = totals.unowned});
}

void ReceiveSide::acknowledge(Stripe& stripe) {
    stripe.flow.set_drops(stripe.socket.dropped());
    if (!links_.ready(stripe.index) || now_ < stripe.pace.next()) return;
    frame_.clear();
    const std::vector<Range>& naks = stripe.flow.take_naks(now_);
    if (!naks.empty()) sabul::append_nak(frame_, naks);
    if (stripe.flow.ack_due(now_)) {
        credit_told_ = sink_.credit();
        credit_told_at_ = now_;
        sabul::append_ack(frame_, stripe.flow.take_ack(now_, credit_told_));
    }
    if (frame_.empty()) return;
    links_.send(stripe.index, frame_);
    stripe.pace.told(now_, stripe.flow.rtt(), links_.backlog(stripe.index));
}

// On a short path all stripes may have no more under way than a socket or a few hold
// (SendSide::buffer_room), or the user's window: some of it is told at once, by those stripes that
// have most of it, however many they are.
void ReceiveSide::hurry_ack() {
    for (;;) {
        std::size_t all = 0;
        Stripe* most = nullptr;
        for (const auto& stripe : stripes_) {
            if (!links_.ready(stripe->index) || stripe->flow.ack_due(now_)) continue;
            all += stripe->flow.untold_bytes();
            if (most == nullptr || stripe->flow.untold_bytes() > most->flow.untold_bytes())
                most = stripe.get();
        }
        if (most == nullptr || most->flow.rtt() >= 2 * setup_.terms.syn) return;
        if (most->socket.receive_buffer_bytes() == 0) return;
        const std::uint64_t window = setup_.terms.window > 0 ? setup_.terms.window : UINT64_MAX;
        if (all < std::min<std::uint64_t>(most->flow.room().told(), window / 4)) return;
        most->flow.ack_at_once();
    }
}

void ReceiveSide::tell_credit() {
    if (sink_.credit() == credit_told_ || now_ < credit_told_at_ + setup_.terms.syn) return;
    credit_told_at_ = now_;
    Stripe* first = nullptr;  // that may speak
    for (const auto& stripe : stripes_) {
        if (!links_.ready(stripe->index)) continue;
        if (first == nullptr || stripe->pace.next() < first->pace.next()) first = stripe.get();
    }
    if (first != nullptr) first->flow.ack_at_once();
}

// ---- packets

bool ReceiveSide::receive(std::size_t socket) {
    TextRun& run = runs_[socket];
    for (int batch = 0; batch < kBatchesPerTurn; ++batch) {
        const std::span<ports::Arrival> arrivals =
            setup_.sockets[socket]->receive(run.places(sink_));
        if (arrivals.empty()) return false;
        run.settle(arrivals, stripes_.front()->ciphers.data->tag_bytes());
        for (const ports::Arrival& each : arrivals) take(each);
        open_batch();  // before their memory takes others
    }
    return true;
}

void ReceiveSide::take(const ports::Arrival& arrival) {
    using Where = transfer::Sink::Landing::Where;
    const auto header = sabul::decode(arrival.bytes);
    if (!header || header->flow >= stripes_.size()) return;
    Stripe& stripe = *stripes_[header->flow];
    const std::size_t overhead = sabul::kHeaderBytes + stripe.ciphers.data->tag_bytes();
    const bool from_sender =
        header->type != sabul::PacketType::hello && header->type != sabul::PacketType::answer;
    const bool leaf_end = (header->flags & sabul::kLeafEnd) != 0;
    const std::size_t digest = leaf_end ? sizeof(transfer::Digest) : 0;
    if (!from_sender || arrival.bytes.size() < overhead + digest) return stripe.flow.refuse();
    const std::size_t text = arrival.bytes.size() - overhead + arrival.apart.size();
    const bool data = header->type == sabul::PacketType::data;

    // Order first: what is checked below must already know of the packets in hand.
    if (batch_.count > 0 && (batch_.stripe != &stripe || !data || header->place < batch_.end))
        open_batch();
    const auto number = stripe.flow.check(header->number);
    if (!number) return stripe.flow.refuse();
    transfer::Sink::Landing landing{Where::scratch, nullptr};
    const bool bare = data && (header->flags & sabul::kBare) != 0;
    const std::size_t apart = arrival.apart.size();
    if (data) landing = sink_.landing(header->place, text - digest, leaf_end && apart == 0, bare);
    if (landing.where == Where::refuse || (apart > 0 && landing.at != arrival.apart.data()))
        return stripe.flow.refuse();

    const bool scratch = landing.where == Where::scratch;
    batch_.stripe = &stripe;
    batch_.headers[batch_.count] = *header;
    // What waits in the socket for long waits because of us, and is a queue like any other.
    batch_.arrivals[batch_.count] = std::max(arrival.at, now_ - kHostDelay);
    batch_.jobs[batch_.count] = {*number, arrival.bytes, scratch ? scratch_.data() : landing.at,
                                 false,   bare,          apart};
    ++batch_.count;
    batch_.end = header->place + text - digest;
    if (header->type == sabul::PacketType::challenge) {
        open_batch();
        return;
    }
    // There is one scratch buffer, and a batch has an end.
    if (scratch || batch_.count == Batch::kMost) open_batch();
}

void ReceiveSide::open_batch() {
    if (batch_.count == 0) return;
    Stripe& stripe = *batch_.stripe;
    stripe.ciphers.data->open(std::span(batch_.jobs).first(batch_.count));
    // Within a batch a number may stand twice: the second is a replay.
    for (std::size_t i = 0; i < batch_.count; ++i) {
        const ports::OpenJob& job = batch_.jobs[i];
        if (job.ok && stripe.flow.check(batch_.headers[i].number)) {
            apply(stripe, batch_.headers[i], job, batch_.arrivals[i]);
        } else {
            stripe.flow.refuse();
        }
    }
    batch_.count = 0;
}

void ReceiveSide::apply(Stripe& stripe, const sabul::Header& header, const ports::OpenJob& job,
                        Time arrived) {
    const std::size_t overhead = sabul::kHeaderBytes + stripe.ciphers.data->tag_bytes();
    const std::size_t wire = job.packet.size() + job.apart;
    const ByteView text(job.text, wire - overhead);
    stripe.heard = true;
    if (header.type == sabul::PacketType::challenge) {
        stripe.flow.accept(job.number, wire, 0, arrived);
        return answer(stripe, text);
    }
    if (header.type != sabul::PacketType::data) {
        stripe.flow.accept(job.number, wire, 0, arrived);
        return;
    }
    const bool leaf_end = (header.flags & sabul::kLeafEnd) != 0;
    const std::size_t bytes = text.size() - (leaf_end ? sizeof(transfer::Digest) : 0);
    stripe.flow.accept(job.number, wire, bytes, arrived);
    transfer::Digest digest{};
    if (leaf_end) {
        const std::byte* const trailer =
            job.apart > 0 ? job.packet.data() + sabul::kHeaderBytes : text.data() + bytes;
        std::memcpy(digest.data(), trailer, digest.size());
    }
    runs_[stripe.index % runs_.size()].took(header.place, bytes, leaf_end,
                                            job.bare && stripe.ciphers.data->leaves_text());
    sink_.accept(header.place, text.first(bytes), leaf_end ? &digest : nullptr);
    if (first_data_ == kNever) {
        first_data_ = now_;
        meter_.start(now_);
    }
    last_progress_ = now_;
}

// ---- addresses

void ReceiveSide::greet(Stripe& stripe) {
    if (!setup_.is_client || now_ < stripe.hello_at) return;
    stripe.hello_pause = stripe.heard ? kKeepAlive
                         : stripe.hello_pause.count() == 0
                             ? kFirstHello
                             : std::min(2 * stripe.hello_pause, kLongestHello);
    stripe.hello_at = now_ + stripe.hello_pause;
    send_reverse(stripe, sabul::PacketType::hello, {});
}

void ReceiveSide::answer(Stripe& stripe, ByteView challenge) {
    if (setup_.is_client && challenge.size() == 16)
        send_reverse(stripe, sabul::PacketType::answer, challenge);
}

void ReceiveSide::send_reverse(Stripe& stripe, sabul::PacketType type, ByteView text) {
    std::array<std::byte, 64> packet{};
    const sabul::PacketNumber number = stripe.reverse_next++;
    sabul::encode({.type = type,
                   .flags = 0,
                   .flow = stripe.index,
                   .number = static_cast<std::uint32_t>(number),
                   .place = 0},
                  packet.data());
    const ports::SealJob job{number, packet.data(), text, {}, false};
    stripe.ciphers.reverse->seal({&job, 1});
    const std::size_t bytes =
        sabul::kHeaderBytes + text.size() + stripe.ciphers.reverse->tag_bytes();
    // A lost HELLO is repeated; one that the socket refuses is no different.
    const ByteView sealed = ByteView(packet).first(bytes);
    static_cast<void>(stripe.socket.send({&sealed, 1}, bytes, ports::Text::passes, stripe.peer));
}

// ---- the end

void ReceiveSide::maybe_end() {
    if (done_ || !sink_.finished()) return;
    if (ended_ == kNever) {
        ended_ = now_;
        count_time();
    }
    // Not when all connections are gone: who did not hear the end would wait for it in vain.
    const bool told = peer_ended_ || set_.out().all_consumed() ||
                      (setup_.says_goodbye && links_.any_alive() && !set_.out().has_piece());
    done_ = told || now_ - ended_ > kLastWords;
}

Time ReceiveSide::next_time() {
    Time next = std::min(links_.next_time(), sink_.next_time());
    for (const auto& stripe : stripes_) {
        if (links_.alive(stripe->index) && !links_.blocked(stripe->index))
            next = std::min(next, std::max(stripe->flow.next_time(), stripe->pace.next()));
        if (setup_.is_client) next = std::min(next, stripe->hello_at);
    }
    if (sink_.credit() != credit_told_ && links_.any_alive())
        next = std::min(next, credit_told_at_ + setup_.terms.syn);
    if (ended_ != kNever) next = std::min(next, ended_ + kLastWords);
    return std::max(std::min(next, now_ + std::chrono::seconds(1)), now_);
}

void ReceiveSide::check_stall() {
    if (ended_ != kNever) return;
    if (const auto why = disk_watch_.stalled(now_)) return cut(*why);
    const auto why =
        stalled(links_, now_, last_progress_,
                heard() ? nullptr : "none of the sender's UDP packets arrived", standstill_);
    if (why) return cut(*why);
    std::uint64_t moved = disk_events_ + comparison_.totals().adopted;
    std::uint64_t lost = 0;
    for (const auto& stripe : stripes_) {
        moved += stripe->flow.bytes();
        lost += stripe->flow.said_lost();
    }
    motion_.look(now_, moved, lost);
    standstill_ = motion_.stands(now_) ? why_nothing_moves() : std::string_view();
}

}  // namespace lambda::engine
