#include "common/transfer/comparison.h"

#include <algorithm>

#include "common/base/assert.h"
#include "common/transfer/filter.h"
#include "common/transfer/names.h"

namespace lambda::transfer {
namespace {

using OfferKind = OfferRecord::Kind;
using Event = ports::TargetEvent;

// What a sender's walk enters; each costs the port a descriptor.
constexpr std::size_t kMostDepth = 512;

Error in_the_way(const ports::TargetName& target, const std::string& remedy) {
    return Error{.fault = Fault::file,
                 .message = "cannot write: it is a directory",
                 .path = target.text(),
                 .side = Side::local,
                 .remedy = remedy};
}

}  // namespace

Comparison::Comparison(const Ports& with, StreamSender& stream, const Target& target,
                       Changes* changes, OnFailure on_failure)
    : tree_(with.tree),
      stream_(stream),
      target_(target),
      changes_(changes),
      on_failure_(std::move(on_failure)),
      digests_(with.reader) {
    if (tree_ != nullptr) {
        ++calls_;
        tree_->begin(target.path);
    } else {
        stream_.put(HoldsRecord{false});
    }
}

bool Comparison::set_plan(const SyncRecord& plan) {
    if (plan.checksum && !digests_.possible()) return false;
    if (plan_set_ || next_offer_ > 0 || !entered_.empty() || tree_ == nullptr) return false;
    plan_ = plan;
    plan_set_ = true;
    if (!plan.erase) return true;
    // What --ignore-existing keeps is not in the way.
    tree_->seek_extraneous(
        [filter = Filter(plan.rules)](const std::string& name, bool directory) {
            return filter.excludes(name, directory);
        },
        !plan.ignore_existing);
    return true;
}

bool Comparison::takes(const Record& record) {
    return std::holds_alternative<SyncRecord>(record) ||
           std::holds_alternative<OfferRecord>(record) ||
           std::holds_alternative<DigestRecord>(record) ||
           std::holds_alternative<OfferedRecord>(record);
}

bool Comparison::handle(const Record& record) {
    if (const auto* offer = std::get_if<OfferRecord>(&record)) return handle_offer(*offer);
    if (const auto* plan = std::get_if<SyncRecord>(&record)) return set_plan(*plan);
    if (const auto* digest = std::get_if<DigestRecord>(&record)) return handle_digest(*digest);
    const auto& offered = std::get<OfferedRecord>(record);
    if (offers_ended_ || offered.offers != next_offer_ || !entered_.empty()) return false;
    offers_ended_ = true;
    faults_ += offered.faults;
    return true;
}

// Empty: it cannot be.
std::string Comparison::name_of(const OfferRecord& record) const {
    if (entered_.empty() || entered_.back() == ".") return record.leaf;
    if (record.leaf == ".") return {};
    return entered_.back() + "/" + record.leaf;
}

bool Comparison::handle_offer(const OfferRecord& record) {
    if (offers_ended_ || tree_ == nullptr) return false;
    if (record.kind == OfferKind::leave) {
        if (entered_.empty()) return false;
        entered_.pop_back();
        looks_.push_back({.step = ports::Look::Step::leave});
        return true;
    }
    const std::string name = name_of(record);
    const bool root = name == "." && entered_.empty() && record.kind == OfferKind::directory;
    if (!root && !acceptable_name(name)) return false;
    const bool directory = record.kind == OfferKind::directory;
    if (directory && entered_.size() == kMostDepth) return false;
    const bool full = asked_.size() + similar_.size() + further_ >= 2 * kMostOffered ||
                      held_bytes_ >= kMostOfferedBytes || to_come_.size() >= 2 * kMostOffered ||
                      to_come_bytes_ >= 4 * kMostOfferedBytes;
    if (full && record.kind != OfferKind::skipped) return false;
    ports::Look look{.step = directory ? ports::Look::Step::enter : ports::Look::Step::entry,
                     .target = target_.of(name),
                     .name = name,
                     .archive = record.metadata.archived.has_value()};
    look.skipped = record.kind == OfferKind::skipped;
    if (record.kind == OfferKind::same) look.first = target_.of(record.text);
    Asked asked{.offer = 0,
                .offered = {record.kind, record.further, record.metadata, name, record.text},
                .target = look.target,
                .bytes = offer_bytes(name, record.text, record.metadata),
                .alone = entered_.empty()};
    if (directory) entered_.push_back(name);
    looks_bytes_ += name.size();
    looks_.push_back(std::move(look));
    if (record.kind == OfferKind::skipped) return true;
    held_bytes_ += asked.bytes;
    asked.offer = next_offer_++;
    asked_.push_back(std::move(asked));
    return true;
}

void Comparison::turn(bool rest_done) {
    if (tree_ == nullptr) {
        if (rest_done) stage_ = Stage::over;
        return;
    }
    for (Event& event : tree_->poll()) handle(event);
    // Before anything is settled: the further name of a file may be judged and settled in one turn.
    if (!verdicts_.empty()) {
        const auto count = static_cast<std::uint32_t>(verdicts_.size());
        stream_.put(VerdictsRecord{next_verdict_, std::move(verdicts_)});
        next_verdict_ += count;
        verdicts_.clear();
    }
    take_digests();
    send_looks();
    advance(rest_done);
}

void Comparison::send_looks() {
    while (!looks_.empty() && calls_ < kMostCalls && mending_bytes_ < kMostOfferedBytes &&
           may_report()) {
        std::vector<ports::Look> some;
        for (std::size_t archives = 0;
             !looks_.empty() && some.size() < kMostLooks && archives < kMostArchives;
             looks_.pop_front()) {
            if (looks_.front().archive) ++archives;
            looks_bytes_ -= looks_.front().name.size();
            some.push_back(std::move(looks_.front()));
        }
        ++calls_;
        tree_->look(std::move(some));
    }
}

void Comparison::handle(Event& event) {
    ++events_;
    switch (event.kind) {
        case Event::Kind::begun:
            --calls_;
            stream_.put(HoldsRecord{event.holds});
            return;
        case Event::Kind::looked:
            return handle_looked(event);
        case Event::Kind::mended: {
            const Mending mended = mending_.extract(event.tag).mapped();
            mending_bytes_ -= mended.bytes;
            if (event.error) {
                miss(mended, *event.error);
            } else if (mended.attributes) {
                ++totals_.mended;
                report({Change::What::attributes, mended.name, false});
            }
            if (event.unowned) ++totals_.unowned;
            return;
        }
        case Event::Kind::extraneous:
            return handle_extraneous(event);
    }
}

void Comparison::handle_looked(const Event& event) {
    --calls_;
    for (const Error& error : event.unread) miss(error.path, error);
    if (event.error) {
        miss(event.error->path, *event.error);
        unlisted_ = true;
    }
    for (const ports::Standing& standing : event.standings) {
        Asked asked = std::move(asked_.front());
        asked_.pop_front();
        const Verdict verdict = judge_one(asked, standing);
        verdicts_.push_back(static_cast<std::uint8_t>(verdict));
        if (verdict == Verdict::similar) {
            compare(std::move(asked), standing);
            continue;
        }
        held_bytes_ -= asked.bytes;
        act(asked, verdict);
    }
}

Verdict Comparison::judge_one(Asked& asked, const ports::Standing& standing) {
    Offered& offered = asked.offered;
    asked.stays = standing.stays;
    asked.recent = standing.recent;
    asked.stood_ns = standing.metadata.mtime_ns;
    if (offered.kind == OfferKind::same && left_files_.may_hold(offered.text))
        offered.kind = OfferKind::file;
    Verdict verdict = judge(offered, standing, plan_, tree_->rights());
    if (offered.kind == OfferKind::same) verdict = judge_further(asked, verdict);
    if (moves_anyway(asked) && !wanted(verdict)) verdict = Verdict::changed;
    verdict = adopt(offered, standing, verdict);
    if (verdict == Verdict::left && standing.error) miss(offered.name, *standing.error);
    if (verdict == Verdict::changed) {
        if (const auto error = foreseen(asked, standing)) {
            miss(offered.name, *error);
            verdict = Verdict::left;
        }
    }
    // It is announced then, and fails.
    if (verdict == Verdict::blocked && blocked_.size() >= kMostOffered) verdict = asked.once_clear;
    note_shared(offered, verdict);
    return verdict;
}

// As it would fail where it is announced.
std::optional<Error> Comparison::foreseen(const Asked& asked,
                                          const ports::Standing& standing) const {
    const bool directory = asked.offered.kind == OfferKind::directory;
    if (directory && asked.target.below.empty() && standing.kind == ports::Standing::Kind::link)
        return standing.error;
    if (plan_.erase || directory || standing.kind != ports::Standing::Kind::directory)
        return std::nullopt;
    return in_the_way(asked.target, plan_.whole ? "remove it, or sync with --delete" : "remove it");
}

// What was named by itself is not taken over by size and time, unless an earlier try did it.
bool Comparison::moves_anyway(const Asked& asked) const {
    return plan_.tells && !plan_.whole && asked.alone && asked.offered.kind == OfferKind::file &&
           !done_before_.contains(asked.offered.name);
}

// One that stands under several names stands for several files only where it agrees with each.
Verdict Comparison::adopt(const Offered& offered, const ports::Standing& standing,
                          Verdict verdict) {
    const bool mends = verdict == Verdict::attributes;
    const bool adopts = offered.kind == OfferKind::file && (mends || verdict == Verdict::stands);
    if (!adopts || standing.further == 0) return verdict;
    const auto before = adopted_.find(standing.file);
    if (before != adopted_.end()) return mends || before->second ? Verdict::changed : verdict;
    if (adopted_.size() == kMostShared) return mends ? Verdict::changed : verdict;
    adopted_.emplace(standing.file, mends);
    return verdict;
}

// It goes the way of the first name.
Verdict Comparison::judge_further(Asked& asked, Verdict verdict) {
    const std::string& first = asked.offered.text;
    if (verdict == Verdict::stands) {
        if (replaced_.may_hold(first)) return Verdict::changed;
        return similar_shared_.contains(first) ? Verdict::similar : verdict;
    }
    if (!wanted(verdict)) return verdict;
    if (left_links_.may_hold(first)) {
        miss(asked.offered.name,
             Error{.fault = Fault::file,
                   .message = "it is another name of a link, " + first + ", that was left",
                   .path = asked.target.text(),
                   .side = Side::local,
                   .remedy = "make it a link of its own at the source"});
        return Verdict::left;
    }
    if (!blocked_shared_.may_hold(first)) return verdict;
    asked.once_clear = verdict;
    return Verdict::blocked;
}

void Comparison::note_shared(const Offered& offered, Verdict verdict) {
    if (offered.further == 0) return;
    if (wanted(verdict)) replaced_.add(offered.name);
    if (verdict == Verdict::blocked) blocked_shared_.add(offered.name);
    if (verdict == Verdict::left)
        (offered.kind == OfferKind::link ? left_links_ : left_files_).add(offered.name);
}

void Comparison::act(Asked& asked, Verdict verdict) {
    const Offered& offered = asked.offered;
    const bool directory = offered.kind == OfferKind::directory;
    if (to_come(offered, verdict)) {
        const auto [at, added] = to_come_.try_emplace(offered.name, ToCome{directory});
        if (added) to_come_bytes_ += offered.name.size();
        if (!added && directory) ++at->second.times;
    }
    const bool file = offered.kind == OfferKind::file;
    const std::uint64_t size = file ? offered.metadata.size : 0;
    switch (verdict) {
        case Verdict::fresh:
            return report({Change::What::create, offered.name, directory, size});
        case Verdict::changed:
            return report({Change::What::replace, offered.name, directory, size});
        case Verdict::blocked:
            blocked_.push_back({asked.offer, asked.once_clear, offered.name, size});
            if (asked.stays && plan_.dry_run)
                blocked_.back().foreseen = in_the_way(asked.target, "look at what it holds");
            return;
        case Verdict::attributes:
            // Of a file once it has them.
            if (!file || plan_.dry_run) report({Change::What::attributes, offered.name, directory});
            break;
        default:
            break;
    }
    if (directory || (verdict != Verdict::stands && verdict != Verdict::attributes)) return;
    const bool mends = file && verdict == Verdict::attributes;
    if (file) {
        ++totals_.adopted;
        totals_.adopted_bytes += size;
        if (mends && plan_.dry_run) ++totals_.mended;
    }
    if (plan_.dry_run || !(mends || asked.recent)) return;
    const std::uint64_t tag = next_mend_++;
    mending_.emplace(tag, Mending{.name = offered.name,
                                  .bytes = asked.bytes,
                                  .attributes = mends,
                                  .size = file ? std::optional(size) : std::nullopt});
    mending_bytes_ += asked.bytes;
    if (!mends) return tree_->keep(tag, asked.target);
    tree_->mend(tag, asked.target, offered.metadata, asked.stood_ns);
}

void Comparison::advance(bool rest_done) {
    const bool idle =
        similar_.empty() && asked_.empty() && looks_.empty() && calls_ == 0 && mending_.empty();
    if (!idle) return;
    if (stage_ == Stage::offers) {
        if (offers_ended_ && plan_.erase) {
            removes_ = may_remove();
            stage_ = Stage::clearing;
            lists_ = removes_ && !blocked_.empty();
            if (!lists_) unblock();
        } else if (rest_done) {
            stage_ = Stage::over;
        }
    }
    if (stage_ == Stage::rest && rest_done) {
        stage_ = Stage::removing;
        removes_ = removes_ && may_remove();
        lists_ = removes_;
        if (!lists_) stage_ = Stage::over;
    }
    list_more();
}

// What is in the way is gone, or stays and then fails them.
void Comparison::unblock() {
    for (const Blocked& each : blocked_) {
        stream_.put(SettledRecord{each.offer, static_cast<std::uint8_t>(each.once_clear)});
        report({each.once_clear == Verdict::fresh ? Change::What::create : Change::What::replace,
                each.name, false, each.size});
        if (each.foreseen) miss(each.name, *each.foreseen);
    }
    blocked_.clear();
    stage_ = Stage::rest;
}

// Says why not.
bool Comparison::may_remove() {
    Error error{.fault = Fault::file,
                .message = {},
                .path = target_.path.empty() ? "." : target_.path,
                .side = Side::local,
                .remedy = {}};
    // What was in the way of something is gone by then, perhaps.
    const std::string nothing =
        totals_.removed > 0 ? "nothing more was deleted" : "nothing was deleted";
    if (faults_ > 0) {
        error.message = nothing + ", since what could not be read at the source may belong there";
        error.remedy = "mend that and run the same command again";
    } else if (unlisted_) {
        error.message = nothing + ", since not all that would go is known";
        error.remedy = "mend what failed before and run the same command again";
    } else if (tree_->extraneous() > plan_.max_delete) {
        const std::string many = std::to_string(tree_->extraneous()) +
                                 " would go, more than --max-delete " +
                                 std::to_string(plan_.max_delete);
        error.message = (plan_.dry_run ? "nothing would be deleted: " : nothing + ": ") + many;
        error.remedy = plan_.dry_run ? "raise it if they should" : "look at them with --dry-run";
    } else {
        return true;
    }
    // They are looked at in a dry run, whether or not they would go.
    const bool lists = plan_.dry_run && faults_ == 0 && !unlisted_;
    if (!lists || stage_ == Stage::removing) miss(".", error);
    return lists;
}

// The next portion of what is to go, once there is room to tell of it.
void Comparison::list_more() {
    if (!lists_ || !stream_.has_room() || !may_report()) return;
    lists_ = false;
    ++calls_;
    tree_->next_extraneous(stage_ == Stage::clearing, !plan_.dry_run);
}

void Comparison::handle_extraneous(const Event& event) {
    --calls_;
    if (event.error) miss(".", *event.error);
    for (const ports::Extraneous& each : event.list) {
        if (each.error) {
            miss(each.name, *each.error);
            continue;
        }
        ++totals_.removed;
        stream_.put(GoneRecord{each.name, each.directory});
        report({Change::What::remove, each.name, each.directory});
    }
    lists_ = !event.list.empty();
    if (lists_) return;
    if (stage_ == Stage::clearing) return unblock();
    stage_ = Stage::over;
}

void Comparison::miss(const std::string& name, const Error& error) {
    miss(Mending{.name = name}, error);
}

// A file that was to stand is not as it was to be, or may not outlive a crash.
void Comparison::miss(const Mending& missed, const Error& error) {
    ++totals_.failed;
    auto verdict = Verdict::left;
    if (missed.size) {
        --totals_.adopted;
        totals_.adopted_bytes -= *missed.size;
        verdict = missed.attributes ? Verdict::attributes : Verdict::stands;
    }
    stream_.put(MissedRecord{.name = missed.name,
                             .fault = error.fault,
                             .message = error.message,
                             .remedy = error.remedy,
                             .verdict = static_cast<std::uint8_t>(verdict),
                             .size = missed.size.value_or(0)});
    on_failure_(missed.name, error);
}

void Comparison::report(Change change) {
    if (changes_ != nullptr && plan_.whole) changes_->put(std::move(change));
}

}  // namespace lambda::transfer
