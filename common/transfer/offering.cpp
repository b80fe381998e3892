#include "common/transfer/offering.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/extended_limit.h"
#include "common/transfer/names.h"

namespace lambda::transfer {
namespace {

using Kind = ports::Found::Kind;
using OfferKind = OfferRecord::Kind;

constexpr std::size_t kFoundAhead = 512;

std::size_t bytes_of(const ports::Found& found) {
    return offer_bytes(found.name, found.text, found.metadata);
}

OfferKind kind_of(const ports::Found& found) {
    switch (found.kind) {
        case Kind::directory:
            return OfferKind::directory;
        case Kind::leave:
            return OfferKind::leave;
        case Kind::link:
            return OfferKind::link;
        case Kind::same:
            return OfferKind::same;
        case Kind::skipped:
        case Kind::failed:
            return OfferKind::skipped;
        case Kind::file:
            break;
    }
    return OfferKind::file;
}

}  // namespace

Offering::Offering(ports::Walker& walker, StreamSender& stream, ports::ContentReader* reader,
                   Changes* changes)
    : walker_(walker), stream_(stream), changes_(changes), digests_(reader) {}

void Offering::set_options(ports::WalkOptions options) {
    options.file_metadata = true;
    walker_.set_options(std::move(options));
}

void Offering::take(std::vector<ports::Found>& out, std::size_t most) {
    admit();
    const std::size_t before = out.size();
    const auto room = [&] { return out.size() - before < most && may_report(); };
    while (!items_.empty() && room()) {
        Item& front = items_.front();
        if (front.offer && (!front.verdict || *front.verdict == Verdict::similar)) break;
        Item item = std::move(front);
        items_.pop_front();
        ++first_item_;
        items_bytes_ -= item.bytes;
        give(std::move(item), out);
    }
    while (items_.empty() && !unblocked_.empty() && room()) give_settled(out);
    // Nothing that was in the way goes before all else has been read, and that can be, too.
    if (blocked_.empty()) end_offers();
}

bool Offering::ended() const {
    return walker_.ended() && found_.empty() && items_.empty() && blocked_.empty() &&
           unblocked_.empty() && offers_ended_;
}

// From the walker, as far as it is known whether to offer, and there is room for it.
void Offering::admit() {
    while (true) {
        if (found_.empty()) {
            taken_.clear();
            walker_.take(taken_, kFoundAhead);
            std::move(taken_.begin(), taken_.end(), std::back_inserter(found_));
        }
        const bool full = items_.size() >= kMostOffered || items_bytes_ >= kMostOfferedBytes;
        if (found_.empty() || full || !stream_.has_room() || !may_admit(found_.front())) return;
        ports::Found next = std::move(found_.front());
        found_.pop_front();
        admit(std::move(next));
    }
}

bool Offering::may_admit(const ports::Found& found) const {
    return plan_.whole || holds_ || (!inside_ && found.kind != Kind::directory);
}

// Of a file that lies in no tree: it moves in any case, but for one that is known to be done.
bool Offering::tells_of(const ports::Found& found) const {
    return !inside_ && found.kind == Kind::file &&
           (plan_.tells || done_before_.contains(found.name));
}

// Of what is in a new directory nothing stands there.
bool Offering::needs_offer(const ports::Found& found) const {
    if (plan_.whole || tells_of(found)) return true;
    if (!holds_.value_or(false)) return false;
    if (found.kind == Kind::leave) return inside_->offered;
    if (found.kind == Kind::skipped || found.kind == Kind::failed) return false;
    if (!inside_) return found.kind == Kind::directory;
    return inside_->offered && inside_->verdict != Verdict::fresh;
}

void Offering::admit(ports::Found found) {
    if (auto error = too_much_extended(found.metadata.archived, found.path)) {
        ports::Found failed{.kind = Kind::failed, .path = found.path, .name = found.name};
        failed.error = *std::move(error);
        admit(std::move(failed));
        // It is entered all the same, with what can be said of it, so that it can be left.
        if (found.kind != Kind::directory) return;
        found.metadata.archived.reset();
    }
    const bool offers = needs_offer(found);
    Item item{.found = std::move(found), .directory = inside_, .offer = {}, .verdict = {}};
    if (item.found.kind == Kind::failed) ++faults_;
    if (item.found.kind == Kind::leave) {
        LAMBDA_ASSERT(inside_);
        inside_ = inside_->outer;
    }
    if (item.found.kind == Kind::directory) {
        auto directory = std::make_shared<Directory>();
        directory->found = item.found;
        directory->outer = inside_;
        directory->offered = offers;
        item.directory = inside_ = std::move(directory);
    }
    item.bytes = bytes_of(item.found);
    if (offers) offer(item);
    items_bytes_ += item.bytes;
    items_.push_back(std::move(item));
}

void Offering::offer(Item& item) {
    const ports::Found& found = item.found;
    OfferRecord record{
        .kind = kind_of(found),
        .further = static_cast<std::uint8_t>(std::min<std::uint64_t>(found.further, UINT8_MAX)),
        .metadata = {},
        .leaf = {},
        .text = {}};
    if (record.kind != OfferKind::leave) {
        record.leaf = found.name.substr(found.name.rfind('/') + 1);
        if (record.kind == OfferKind::skipped && !acceptable_name(found.name)) return;
    }
    if (record.kind != OfferKind::leave && record.kind != OfferKind::skipped) {
        record.metadata = found.metadata;
        record.text = found.text;
        item.offer = next_offer_++;
        asked_.push_back(first_item_ + items_.size());
    }
    stream_.put(record);
}

bool Offering::handle_verdicts(const VerdictsRecord& record) {
    if (record.first != next_verdict_ || record.codes.size() > next_offer_ - next_verdict_)
        return false;
    for (const std::uint8_t code : record.codes) {
        const std::uint64_t number = asked_.front();
        asked_.pop_front();
        Item& item = items_[number - first_item_];
        note_verdict(item, static_cast<Verdict>(code));
        if (item.verdict == Verdict::similar || item.verdict == Verdict::blocked)
            unsettled_.emplace(next_verdict_, number);
        if (item.verdict == Verdict::similar && item.found.kind == Kind::file) {
            if (!digests_.possible()) return false;
            digests_.want(next_verdict_,
                          ports::SourceFile{.path = item.found.path,
                                            .follow = item.found.follow,
                                            .named = item.found.named,
                                            .id = item.found.id},
                          item.found.metadata.size);
        }
        ++next_verdict_;
    }
    return true;
}

void Offering::note_verdict(Item& item, Verdict verdict) {
    ports::Found& found = item.found;
    item.verdict = verdict;
    if (found.kind == Kind::directory) item.directory->verdict = verdict;
    if (found.kind == Kind::file && found.further > 0 && verdict == Verdict::left)
        left_files_.add(found.name);
    if (found.kind != Kind::same || !left_files_.may_hold(found.text)) return;
    found.kind = Kind::file;
    found.text.clear();
}

// What cannot be read is moved then, and says why it fails.
void Offering::turn(bool rest_done) {
    digests_.turn([this](std::uint32_t offer, const Result<Digests>& digests) {
        using What = DigestRecord::What;
        if (trying_.erase(offer) > 0) {
            if (!digests) ++faults_;
            return;
        }
        stream_.put(digests ? DigestRecord{offer, What::digest, *digests}
                            : DigestRecord{offer, What::none, {}});
    });
    if (rest_done) end_offers();
}

bool Offering::handle_settled(const SettledRecord& record) {
    const auto verdict = static_cast<Verdict>(record.verdict);
    if (verdict == Verdict::similar || verdict == Verdict::blocked) return false;
    if (const auto at = unsettled_.find(record.offer); at != unsettled_.end()) {
        items_[at->second - first_item_].verdict = verdict;
        unsettled_.erase(at);
        return true;
    }
    auto blocked = blocked_.extract(record.offer);
    // One that was given up meanwhile.
    if (blocked.empty()) return record.offer < next_verdict_;
    blocked.mapped().verdict = verdict;
    unblocked_.push_back(std::move(blocked.mapped()));
    return true;
}

void Offering::handle_missed(const MissedRecord& record) {
    const auto verdict = static_cast<Verdict>(record.verdict);
    if (verdict != Verdict::stands && verdict != Verdict::attributes) return;
    ++failed_.adopted;
    failed_.adopted_bytes += record.size;
    if (verdict == Verdict::attributes) ++failed_.mended;
}

Offering::Totals Offering::totals() const {
    const auto less = [](std::uint64_t all, std::uint64_t failed) {
        return all - std::min(all, failed);
    };
    return {.adopted = less(totals_.adopted, failed_.adopted),
            .adopted_bytes = less(totals_.adopted_bytes, failed_.adopted_bytes),
            .mended = less(totals_.mended, failed_.mended)};
}

void Offering::give(Item item, std::vector<ports::Found>& out) {
    const Kind kind = item.found.kind;
    if (kind == Kind::failed || kind == Kind::skipped) {
        out.push_back(std::move(item.found));
        return;
    }
    if (kind == Kind::leave) {
        if (std::exchange(item.directory->entered, false)) out.push_back(std::move(item.found));
        return;
    }
    if (item.verdict == Verdict::blocked) return keep_blocked(std::move(item), out);
    if (item.offer) report(item);
    if (plan_.dry_run) return;
    if (kind == Kind::directory) {
        const bool stands = item.verdict == Verdict::stands || item.verdict == Verdict::left;
        if (!stands) enter(item.directory, out);
        return;
    }
    if (item.offer && !wanted(*item.verdict)) return;
    enter(item.directory, out);
    out.push_back(std::move(item.found));
}

// Until the receiver knows whether what stands in its place may go.
void Offering::keep_blocked(Item item, std::vector<ports::Found>& out) {
    const std::uint32_t offer = *item.offer;
    unsettled_.erase(offer);
    // A file's are read once more when it is opened.
    if (item.found.kind == Kind::file) item.found.metadata.archived.reset();
    const std::size_t bytes =
        bytes_of(item.found) + (item.directory ? bytes_of(item.directory->found) : 0);
    if (blocked_.size() < kMostBlocked && blocked_bytes_ + bytes <= kMostOfferedBytes) {
        blocked_bytes_ += bytes;
        if (item.found.kind == Kind::file && digests_.possible()) {
            digests_.try_open(offer, {.path = item.found.path,
                                      .follow = item.found.follow,
                                      .named = item.found.named,
                                      .id = item.found.id});
            trying_.insert(offer);
        }
        blocked_.emplace(offer, std::move(item));
        return;
    }
    ++faults_;
    item.found.kind = Kind::failed;
    item.found.error = Error{.fault = Fault::file,
                             .message =
                                 "a directory stands in its place, and so for many others: "
                                 "so many are not deleted",
                             .path = item.found.name,
                             .side = Side::remote,
                             .remedy = "remove them by hand"};
    out.push_back(std::move(item.found));
}

// With those around it.
void Offering::enter(const std::shared_ptr<Directory>& directory, std::vector<ports::Found>& out) {
    if (!directory || directory->entered) return;
    enter(directory->outer, out);
    directory->entered = true;
    out.push_back(directory->found);
}

// The walk is over: its directories are entered once more.
void Offering::give_settled(std::vector<ports::Found>& out) {
    Item item = std::move(unblocked_.front());
    unblocked_.pop_front();
    const std::shared_ptr<Directory> innermost = item.directory;
    give(std::move(item), out);
    for (auto each = innermost; each; each = each->outer) {
        if (std::exchange(each->entered, false)) out.push_back({.kind = Kind::leave});
    }
}

void Offering::report(const Item& item) {
    const Verdict verdict = *item.verdict;
    if (item.found.kind == Kind::file &&
        (verdict == Verdict::stands || verdict == Verdict::attributes)) {
        ++totals_.adopted;
        totals_.adopted_bytes += item.found.metadata.size;
        if (verdict == Verdict::attributes) ++totals_.mended;
    }
    if (changes_ == nullptr || !plan_.whole || verdict == Verdict::stands ||
        verdict == Verdict::left) {
        return;
    }
    changes_->put(
        {.what = verdict == Verdict::fresh     ? Change::What::create
                 : verdict == Verdict::changed ? Change::What::replace
                                               : Change::What::attributes,
         .name = item.found.name,
         .directory = item.found.kind == Kind::directory,
         .size = item.found.kind == Kind::file && wanted(verdict) ? item.found.metadata.size : 0});
}

void Offering::end_offers() {
    const bool all = found_.empty() && walker_.ended() && items_.empty() && trying_.empty();
    if (!all || offers_ended_ || !stream_.has_room()) return;
    // Where nothing was offered, nobody waits to hear so.
    if (plan_.whole || next_offer_ > 0) stream_.put(OfferedRecord{next_offer_, faults_});
    offers_ended_ = true;
}

}  // namespace lambda::transfer
