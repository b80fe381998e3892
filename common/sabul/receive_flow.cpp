#include "common/sabul/receive_flow.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::sabul {
namespace {

constexpr Duration kMinTolerance = std::chrono::milliseconds(1);
constexpr Duration kHeartbeat = std::chrono::milliseconds(250);
// A start grows at each ACK: on a path that is shorter than the SYN it would wait for that alone.
constexpr unsigned kEarlyAcks = 64;
constexpr int kLeastPartOfSyn = 8;

std::uint64_t microseconds(Time time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count()) / 1000;
}

}  // namespace

ReceiveFlow::ReceiveFlow(const ReceiveFlowSettings& settings)
    : settings_(settings), bitmap_(kReplayWindow / 64), next_(settings.first) {}

std::optional<PacketNumber> ReceiveFlow::check(std::uint32_t low) const {
    const PacketNumber number = full_number(low, next_);
    if (number >= next_) {
        const bool leaves_gap = number > next_;
        if (number - next_ >= kJump || (leaves_gap && gaps_.size() >= kMaxGaps))
            return std::nullopt;
        return number;
    }
    if (next_ - number > kReplayWindow || number < settings_.first || seen(number)) {
        return std::nullopt;
    }
    return number;
}

bool ReceiveFlow::seen(PacketNumber number) const {
    const std::size_t bit = number % kReplayWindow;
    return (bitmap_[bit / 64] >> (bit % 64) & 1) != 0;
}

void ReceiveFlow::mark(PacketNumber number) {
    const std::size_t bit = number % kReplayWindow;
    bitmap_[bit / 64] |= 1ull << (bit % 64);
}

void ReceiveFlow::accept(PacketNumber number, std::size_t wire_bytes, std::size_t file_bytes,
                         Time arrived) {
    if (number >= next_) {
        // Bits of the numbers that the window moves onto belong to the past.
        const PacketNumber stale = std::min<PacketNumber>(number - next_ + 1, kReplayWindow);
        for (PacketNumber i = 0; i < stale; ++i) {
            const std::size_t bit = (number - i) % kReplayWindow;
            bitmap_[bit / 64] &= ~(1ull << (bit % 64));
        }
        if (number > next_) gaps_.push_back({{next_, number}, arrived});
        next_ = number + 1;
        largest_arrival_ = arrived;
    } else {
        fill(number, arrived);
    }
    mark(number);
    any_ = true;
    ++packets_;
    bytes_ += file_bytes;
    bytes_since_ack_ += wire_bytes;
    last_bytes_ = wire_bytes;
    if (!news_) {
        news_ = true;
        last_ack_ = std::max(last_ack_, arrived - settings_.syn);
    }
    sample(number, arrived);
}

// A number below the largest: it ends a gap that was not said yet, or comes late.
void ReceiveFlow::fill(PacketNumber number, Time now) {
    const auto at = std::lower_bound(
        gaps_.begin(), gaps_.end(), number,
        [](const Gap& gap, PacketNumber value) { return gap.numbers.last <= value; });
    if (at == gaps_.end() || at->numbers.first > number) {
        ++late_;
        tolerance_ =
            std::min(tolerance_ + tolerance_ / 4 + kMinTolerance, std::max(rtt_, kMinTolerance));
        return;
    }
    // Reordering that came close to the tolerance widens it before it does harm.
    const Duration waited = now - at->since;
    if (waited > tolerance_ / 2) {
        tolerance_ = std::min(std::max(tolerance_, waited * 2), std::max(rtt_, kMinTolerance));
    }
    const Gap gap = *at;
    const Range left{gap.numbers.first, number};
    const Range right{number + 1, gap.numbers.last};
    if (left.empty() && right.empty()) {
        gaps_.erase(at);
    } else if (left.empty()) {
        at->numbers = right;
    } else {
        at->numbers = left;
        if (!right.empty()) gaps_.insert(at + 1, {right, gap.since});
    }
}

// Keeps arrivals that are spread over the interval, and the latest. Of packets that came in one
// batch the first alone: its time is theirs.
void ReceiveFlow::sample(PacketNumber number, Time now) {
    if (number + 1 != next_ || now == last_sampled_) return;
    last_sampled_ = now;
    const bool close = sample_count_ >= 2 &&
                       samples_[sample_count_ - 1].second - samples_[sample_count_ - 2].second <
                           settings_.syn / kAckSamples;
    if (close || sample_count_ == kAckSamples) --sample_count_;
    samples_[sample_count_++] = {number, now};
}

void ReceiveFlow::handle_state(const State& state) {
    told_next_ = state.next;
    told_rtt_ = state.rtt_us != 0;
    if (told_rtt_) rtt_ = std::chrono::microseconds(state.rtt_us);
    const Duration least = std::max(kMinTolerance, rtt_ / 8);
    // What once was needed is forgotten over some ten seconds.
    tolerance_ = std::clamp(tolerance_ - tolerance_ / 64, least, std::max(rtt_, kMinTolerance));
}

const std::vector<Range>& ReceiveFlow::take_naks(Time now) {
    naks_.clear();
    std::size_t due = 0;
    while (due < gaps_.size() && due < kMaxNakRanges &&
           (gaps_[due].since + tolerance_ <= now || gaps_.size() - due > kMaxPendingGaps)) {
        naks_.push_back(gaps_[due].numbers);
        said_lost_ += gaps_[due].numbers.length();
        ++due;
    }
    if (due > 0) {
        gaps_.erase(gaps_.begin(), gaps_.begin() + static_cast<std::ptrdiff_t>(due));
        news_ = true;
    }
    return naks_;
}

Time ReceiveFlow::ack_time() const {
    if (!news_) return last_ack_ + kHeartbeat;
    if (settings_.buffer_bytes > 0 && bytes_since_ack_ >= room().told()) return last_ack_;
    if (acks_told_ == 0) return last_ack_;
    if (acks_told_ > kEarlyAcks) return last_ack_ + settings_.syn;
    return last_ack_ + std::clamp(rtt_, settings_.syn / kLeastPartOfSyn, settings_.syn);
}

Ack ReceiveFlow::take_ack(Time now, std::uint64_t credit) {
    Ack ack;
    ack.largest = any_ ? next_ : 0;
    ack.cumulative = !any_ ? 0 : gaps_.empty() ? next_ : gaps_.front().numbers.first;
    ack.hold_us = any_ ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                             (now - largest_arrival_).count() / 1000, 0, UINT32_MAX))
                       : 0;
    for (std::size_t i = 0; i < sample_count_; ++i) {
        const PacketNumber back = next_ - 1 - samples_[i].first;
        if (back > UINT32_MAX) continue;
        ack.samples[ack.sample_count++] = {static_cast<std::uint32_t>(back),
                                           microseconds(samples_[i].second)};
    }
    ack.packets = packets_;
    ack.bytes = bytes_;
    ack.late = late_;
    ack.refused = refused_;
    ack.drops = drops_;
    ack.credit = credit;
    ack.buffer = settings_.buffer_bytes;
    last_ack_ = now;
    if (any_) ++acks_told_;
    bytes_since_ack_ = 0;
    news_ = false;
    sample_count_ = 0;
    return ack;
}

Time ReceiveFlow::next_time() const {
    Time next = ack_time();
    if (!gaps_.empty()) next = std::min(next, gaps_.front().since + tolerance_);
    return next;
}

Snapshot ReceiveFlow::take_snapshot(std::vector<std::byte>& storage) {
    storage.clear();
    for (const Gap& gap : gaps_) said_lost_ += gap.numbers.length();
    gaps_.clear();
    news_ = true;
    if (!any_) return Snapshot{};
    const PacketNumber reach = std::min<PacketNumber>(next_ - settings_.first, kReplayWindow);
    storage.resize((reach + 7) / 8);
    for (PacketNumber i = 0; i < reach; ++i) {
        if (seen(next_ - 1 - i)) storage[i / 8] |= static_cast<std::byte>(128u >> (i % 8));
    }
    return Snapshot{next_, storage};
}

}  // namespace lambda::sabul
