// ReceiveSide: what it tells of itself: how far it is, what became of it, what it waits for.
#include <algorithm>

#include "common/engine/evidence.h"
#include "common/engine/receive_side.h"

namespace lambda::engine {

Progress ReceiveSide::progress() const {
    const auto totals = sink_.totals();
    // Blocks fill side by side, so that at a low rate there is none for a long time.
    const std::uint64_t bytes = totals.bytes_complete + sink_.bytes_in_hand();
    Progress progress{.bytes = std::min(bytes, totals.bytes_known),
                      .total_bytes = totals.bytes_known,
                      .files_done = totals.files_done,
                      .files_known = totals.files_known,
                      .lost_packets = 0,
                      .sent_packets = 0,
                      .rtt_ms = 0,
                      .rate_bits = 0,
                      .current_name = sink_.current_name(),
                      .standstill = std::string(standstill_)};
    for (const auto& stripe : stripes_) {
        progress.sent_packets += stripe->flow.packets();
        progress.lost_packets += stripe->flow.said_lost();
        progress.rtt_ms = std::max(progress.rtt_ms, seconds(stripe->flow.told_rtt()) * 1e3);
    }
    return progress;
}

const Outcome& ReceiveSide::outcome() {
    const auto totals = sink_.totals();
    outcome_.files = totals.files_done;
    outcome_.verified = totals.verified;
    outcome_.done = sink_.names_done();
    outcome_.links = totals.links_done;
    outcome_.directories = totals.directories_done;
    outcome_.unowned = totals.unowned + comparison_.totals().unowned;
    outcome_.bytes = totals.bytes_received;
    outcome_.leaves_again = totals.leaves_again;
    outcome_.leaves_changed = totals.leaves_changed;
    outcome_.bytes_kept = totals.bytes_kept;
    outcome_.adopted = comparison_.totals().adopted;
    outcome_.adopted_bytes = comparison_.totals().adopted_bytes;
    outcome_.mended = comparison_.totals().mended;
    outcome_.deleted = comparison_.totals().removed;
    outcome_.sent_packets = outcome_.lost_packets = outcome_.refused_packets = 0;
    for (std::size_t i = 0; i < stripes_.size(); ++i) {
        const sabul::ReceiveFlow& flow = stripes_[i]->flow;
        const std::uint64_t lost = flow.said_lost() - std::min(flow.said_lost(), flow.late());
        outcome_.stripes[i] = {flow.bytes(), flow.packets(), lost, seconds(flow.told_rtt()) * 1e3};
        outcome_.sent_packets += flow.packets() + lost;
        outcome_.lost_packets += lost;
        outcome_.refused_packets += flow.refused();
    }
    outcome_.retransmitted_packets = outcome_.lost_packets;
    outcome_.evidence = evidence_of(setup_, far_, figures(), false);
    return outcome_;
}

bool ReceiveSide::heard() const {
    return std::any_of(stripes_.begin(), stripes_.end(), [](const auto& s) { return s->heard; });
}

std::string_view ReceiveSide::why_nothing_moves() const {
    if (links_.dead_since() != kNever) return kNoConnection;
    if (disk_watch_.working(now_) || sink_.digesting()) return kOwnDisk;
    if (comparison_.unread()) return kUnread;
    const bool missed = std::any_of(stripes_.begin(), stripes_.end(),
                                    [](const auto& s) { return s->flow.behind(); });
    if (motion_.loses()) return kTooLong;
    if (missed && heard()) return "the sender's UDP packets do not arrive any more";
    if (missed) return "none of the sender's UDP packets arrives: a firewall may drop them";
    const bool linked = links_.primary() < links_.stripes() && links_.heard(links_.primary());
    if (!linked) return "nothing is heard of the sender any more: is its program stopped?";
    if (heard()) return "the sender is at work on its disk";
    return "the sender sends nothing: it is at work on its disk, or gets none of our UDP packets";
}

verdict::Figures ReceiveSide::figures() const {
    verdict::Figures figures = meter_.figures(now_);
    for (const ports::DatagramSocket* socket : setup_.sockets)
        figures[verdict::Figure::drops] += socket->dropped();
    figures[verdict::Figure::receive_buffer] = setup_.sockets.front()->receive_buffer_bytes();
    return figures;
}

void ReceiveSide::sample() {
    if (first_data_ == kNever || ended_ != kNever || !outcome_.series.due(now_)) return;
    std::vector<std::uint64_t> totals;
    for (const auto& stripe : stripes_) totals.push_back(stripe->flow.bytes());
    outcome_.series.add(now_, totals);
}

// A few times a second, and once with the end: on each link ahead of the record that tells it. It
// is the client that judges.
void ReceiveSide::tell_spent() {
    if (setup_.is_client) return;
    const bool last = sink_.finished() && !finish_told_;
    if ((!last && now_ - spent_told_ < kSpentEvery) || !meter_.running()) return;
    const std::uint16_t primary = links_.primary();
    frame_.clear();
    sabul::append_spent(frame_, figures().values());
    bool told = false;
    for (std::uint16_t stripe = 0; stripe < links_.stripes(); ++stripe) {
        if ((!last && stripe != primary) || !links_.ready(stripe)) continue;
        links_.send(stripe, frame_);
        told = true;
    }
    if (!told) return;
    finish_told_ = finish_told_ || last;
    spent_told_ = now_;
}

}  // namespace lambda::engine
