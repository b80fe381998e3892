// SendSide: what it tells of itself: how far it is, what became of it, what it waits for.
#include <algorithm>

#include "common/engine/evidence.h"
#include "common/engine/send_side.h"

namespace lambda::engine {

using verdict::Figure;

Progress SendSide::progress() const {
    const auto& totals = source_.totals();
    Progress progress{.bytes = totals.bytes_acknowledged,
                      .total_bytes = totals.bytes_known,
                      .files_done = totals.files_done,
                      .files_known = totals.files_known,
                      .lost_packets = 0,
                      .sent_packets = 0,
                      .rtt_ms = 0,
                      .rate_bits = rate_.rate().bits_per_second,
                      .current_name = source_.current_name(),
                      .standstill = std::string(standstill_)};
    for (const auto& stripe : stripes_) {
        progress.lost_packets += stripe->told_lost;
        progress.sent_packets += stripe->packets;
        if (stripe->flow.rtt().known()) {
            progress.rtt_ms =
                std::max(progress.rtt_ms, seconds(stripe->flow.rtt().smoothed()) * 1e3);
        }
    }
    return progress;
}

const Outcome& SendSide::outcome() {
    const auto& totals = source_.totals();
    outcome_.files = totals.files_done;
    outcome_.verified = totals.verified;
    outcome_.done = source_.names_done();
    outcome_.links = totals.links_done;
    outcome_.directories = totals.directories_done;
    outcome_.bytes = totals.bytes_acknowledged;
    outcome_.leaves_again = totals.leaves_again;
    outcome_.leaves_changed = totals.leaves_changed;
    outcome_.bytes_kept = totals.bytes_kept;
    outcome_.adopted = offering_.totals().adopted;
    outcome_.adopted_bytes = offering_.totals().adopted_bytes;
    outcome_.mended = offering_.totals().mended;
    outcome_.sent_packets = outcome_.lost_packets = outcome_.retransmitted_packets =
        outcome_.refused_packets = 0;
    for (std::size_t i = 0; i < stripes_.size(); ++i) {
        const SendStripe& stripe = *stripes_[i];
        outcome_.stripes[i] = {
            stripe.bytes, stripe.packets, stripe.lost(),
            stripe.flow.rtt().known() ? seconds(stripe.flow.rtt().smoothed()) * 1e3 : 0};
        outcome_.sent_packets += stripe.packets;
        outcome_.lost_packets += stripe.lost();
        outcome_.retransmitted_packets += stripe.retransmitted;
        outcome_.refused_packets += stripe.peer_refused;
    }
    outcome_.evidence = evidence_of(setup_, figures(), far_, true);
    return outcome_;
}

// Nothing where it is the pace that holds it back.
std::string_view SendSide::why_nothing_moves() {
    if (links_.dead_since() != kNever) return kNoConnection;
    // A path that is given up loses all that is under way, too.
    const bool suspended =
        std::any_of(stripes_.begin(), stripes_.end(), [](const auto& s) { return s->suspended; });
    const bool unanswered =
        suspended || std::any_of(stripes_.begin(), stripes_.end(),
                                 [](const auto& s) { return s->flow.open_packets() > 0; });
    if (unanswered && unheard())
        return "the receiver gets none of our UDP packets: its firewall may drop them";
    if (!suspended && motion_.loses()) return kTooLong;
    if (unanswered) return "the receiver acknowledges none of our UDP packets any more";
    const bool paced = std::any_of(stripes_.begin(), stripes_.end(),
                                   [this](const auto& s) { return may_send(*s) && has_data(*s); });
    if (paced) return {};
    if (offering_.unread()) return kUnread;
    const bool busy = disk_watch_.working(now_) || source_.digesting();
    return busy ? kOwnDisk : "the receiver is at work on its disk";
}

void SendSide::meter_waits() {
    if (!meter_.running()) return;
    const SendStripe& first = *stripes_[next_stripe_];
    if (keeps_turn(first)) return meter_.waits_for(wait_of(first));
    for (const auto& stripe : stripes_) meter_.waits_for(wait_of(*stripe));
}

Figure SendSide::wait_of(const SendStripe& stripe) {
    if (!may_send(stripe)) return Figure::silence;
    if (!stripe.burst.empty()) return Figure::socket;
    if (!has_data(stripe)) return begun(stripe.block) != nullptr ? Figure::source : starved_of();
    if (room(stripe) > 0) return rate_.at_limit(stripe.index) ? Figure::limit : Figure::pace;
    if (buffer_room(stripe) == 0) return Figure::buffer;
    const double by_law = rate_.window(stripe.index);
    const double by_user = static_cast<double>(setup_.terms.window) /
                           (rate_.shared_window() ? 1.0 : static_cast<double>(stripes_.size()));
    return setup_.terms.window > 0 && by_user <= by_law ? Figure::window : Figure::law_window;
}

Figure SendSide::starved_of() const {
    using Lack = transfer::Source::Lack;
    switch (source_.lack()) {
        case Lack::credit:
            return Figure::credit;
        case Lack::disk:
            return Figure::source;
        case Lack::memory:
            return Figure::memory;
        case Lack::receiver:
            return Figure::finish;
        case Lack::nothing:
            break;
    }
    return all_arrived() ? Figure::finish : Figure::tail;
}

bool SendSide::all_arrived() const {
    return source_.lack() == transfer::Source::Lack::nothing && !resends_.any_lost() &&
           std::all_of(stripes_.begin(), stripes_.end(),
                       [](const auto& s) { return s->flow.open_packets() == 0; });
}

void SendSide::sample(Time now) {
    if (first_sent_ == kNever) return;
    std::uint64_t total = 0;
    Duration round_trip{0};
    for (const auto& stripe : stripes_) {
        total += stripe->acked_bytes;
        if (stripe->flow.rtt().known())
            round_trip = std::max(round_trip, stripe->flow.rtt().smoothed());
    }
    carried_.add(now, total, round_trip, rate_.rate());
    if (!outcome_.series.due(now)) return;
    std::vector<std::uint64_t> totals;
    for (const auto& stripe : stripes_) totals.push_back(stripe->acked_bytes);
    outcome_.series.add(now, totals);
}

verdict::Figures SendSide::figures() const {
    verdict::Figures figures = meter_.figures(now_);
    queue_.tell(figures);
    carried_.tell(figures);
    for (const auto& stripe : stripes_) {
        figures[Figure::sent] += stripe->packets;
        figures[Figure::lost] += stripe->told_lost;  // as the law heard it
        if (!stripe->flow.rtt().known()) continue;
        const auto least = static_cast<std::uint64_t>(stripe->flow.rtt().minimum().count() / 1000);
        figures[Figure::least_rtt] = std::max(figures[Figure::least_rtt], least);
    }
    return figures;
}

// Nor is anything to be sent.
bool SendSide::none_left() {
    return all_arrived() && std::none_of(stripes_.begin(), stripes_.end(),
                                         [this](const auto& s) { return has_data(*s); });
}

// A few times a second, and when all that was sent has arrived. It is the client that judges.
void SendSide::tell_spent() {
    if (setup_.is_client || !meter_.running()) return;
    const std::uint16_t primary = links_.primary();
    if (primary == links_.stripes() || !links_.ready(primary)) return;
    const bool due = now_ - spent_told_ >= kSpentEvery;
    // All may arrive more than once: a source may be slow.
    if (!due && !none_left()) return;
    const verdict::Figures now = figures();
    if (!due && now[Figure::sent] == packets_told_) return;
    packets_told_ = now[Figure::sent];
    spent_told_ = now_;
    frame_.clear();
    sabul::append_spent(frame_, now.values());
    links_.send(primary, frame_);
}

}  // namespace lambda::engine
