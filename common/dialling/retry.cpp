#include "common/dialling/retry.h"

#include <algorithm>
#include <utility>

namespace lambda::dialling {

void Retry::stood(Time now, bool moved) {
    if (give_up_ && !moved) return;
    give_up_ = now + patience_;
    next_ = kFirstPause;
}

std::optional<Duration> Retry::pause(Time now) {
    if (!give_up_ || now >= *give_up_) return std::nullopt;
    std::uniform_int_distribution<Duration::rep> part(next_.count() / 2, next_.count());
    const Duration pause = std::min(Duration(part(random_)), *give_up_ - now);
    next_ = std::min(2 * next_, kLongestPause);
    return pause;
}

bool moved_some(const mover::Outcome& outcome) {
    return outcome.bytes > 0 || outcome.files > 0;
}

bool may_pass(const Error& error) {
    return error.fault == Fault::cut || error.fault == Fault::session;
}

bool comes_back(const Error& error) {
    return error.fault == Fault::cut ||
           (error.fault == Fault::session && error.side == Side::network);
}

bool says_later(const Error& error) {
    return error.fault == Fault::cut && error.side == Side::remote;
}

bool refused(const Error& error) {
    return error.fault == Fault::session && error.side == Side::remote;
}

namespace {

bool is_busy(const mover::FileFailure& failure) {
    return failure.error.fault == Fault::cut;
}

}  // namespace

const Error* busy_file(const mover::Outcome& outcome) {
    const auto busy = std::find_if(outcome.failures.begin(), outcome.failures.end(), is_busy);
    return busy == outcome.failures.end() ? nullptr : &busy->error;
}

void add_try(mover::Outcome& sum, const mover::Outcome& next) {
    using verdict::Figure;
    mover::Outcome all = next;
    all.cuts += sum.cuts + (sum.cut ? 1 : 0);
    all.files += sum.files;
    all.verified += sum.verified;
    all.bytes += sum.bytes;
    all.transfer_seconds += sum.transfer_seconds;
    all.sent_packets += sum.sent_packets;
    all.lost_packets += sum.lost_packets;
    all.retransmitted_packets += sum.retransmitted_packets;
    all.refused_packets += sum.refused_packets;
    all.leaves_again += sum.leaves_again;
    all.leaves_changed += sum.leaves_changed;
    all.mended += sum.mended;
    all.deleted += sum.deleted;
    // What the tries before moved stands there for this one: no news to the user, at most all of
    // it.
    const auto older = [](std::uint64_t before, std::uint64_t stands, std::uint64_t moved) {
        return std::max(before, stands - std::min(stands, moved));
    };
    all.bytes_kept = older(sum.bytes_kept, next.bytes_kept, sum.bytes);
    all.adopted = older(sum.adopted, next.adopted, sum.files);
    // What moved is bytes without holes, and twice where it was cut: no size of files.
    all.adopted_bytes = all.adopted == sum.adopted
                            ? sum.adopted_bytes
                            : older(sum.adopted_bytes, next.adopted_bytes, sum.bytes);
    all.done.insert(all.done.end(), sum.done.begin(), sum.done.end());
    all.failed += sum.failed;
    auto later = std::exchange(all.failures, std::move(sum.failures));
    for (mover::FileFailure& failure : later) all.keep_failure(std::move(failure));
    // Of the longest try: times of several do not add up to one path.
    if (sum.evidence.sender[Figure::elapsed] > next.evidence.sender[Figure::elapsed]) {
        all.evidence = sum.evidence;
        all.stripes = std::move(sum.stripes);
    }
    sum = std::move(all);
}

void Tries::add(mover::Outcome next) {
    if (last_ && std::exchange(repeats_, false)) {
        last_->failed = 0;
        last_->failures.clear();
    }
    if (last_) last_->failed -= std::erase_if(last_->failures, is_busy);
    if (last_) add_try(before_, *last_);
    last_ = std::move(next);
}

mover::Outcome Tries::all() const {
    mover::Outcome all = before_;
    if (last_) add_try(all, *last_);
    return all;
}

}  // namespace lambda::dialling
