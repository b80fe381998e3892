// SendSide: the names that are to be sent, and how they are walked.
#include <algorithm>

#include "common/base/name_parts.h"
#include "common/engine/send_side.h"
#include "common/engine/stall.h"
#include "common/transfer/filter.h"
#include "common/transfer/names.h"

namespace lambda::engine {
namespace {

// Names that a client may ask for and that the walker has not taken. They may take as much memory
// as the ring was granted, and always so much.
constexpr std::size_t kMostWants = std::size_t{1} << 20;
constexpr std::size_t kLeastWantBytes = std::size_t{64} << 20;

std::size_t memory_of(const transfer::SourceName& name) {
    return sizeof(name) + name.path.size() + name.name.size();
}

}  // namespace

bool SendSide::handle_want(const transfer::WantRecord& want) {
    if (wants_done_) return false;
    const std::size_t most = std::max<std::size_t>(kLeastWantBytes, setup_.terms.memory);
    if (names_left_.size() >= kMostWants || names_left_bytes_ >= most) {
        cut(Error{.fault = Fault::usage,
                  .message = "more names are asked for than one transfer takes",
                  .path = {},
                  .side = Side::remote,
                  .remedy = "ask for them in several transfers"});
        return true;
    }
    const bool covered = setup_.only.empty() || std::find(setup_.only.begin(), setup_.only.end(),
                                                          want) != setup_.only.end();
    if (!covered) {
        cut(beyond_grant("another path was granted"));
        return true;
    }
    if (!walk_set_) set_walk({});
    if (++outcome_.wants <= Outcome::kMaxAsked) outcome_.asked.push_back(want.name);
    const std::string name = base_name(want.name);
    keep_name({.path = want.name,
               .name = want.contents || name.empty() ? "." : name,
               .pattern = want.pattern,
               .named = want.found > 0 ? want.name.size() - want.found : std::string::npos});
    return true;
}

void SendSide::keep_name(transfer::SourceName name) {
    names_left_bytes_ += memory_of(name);
    names_left_.push_back(std::move(name));
}

void SendSide::set_plan() {
    offering_.set_plan(setup_.plan);
    offering_.set_done_before(setup_.done_before);
    if (!setup_.plan.is_default()) set_.out().put(setup_.plan);
}

bool SendSide::handle_standing(const transfer::Record& record) {
    if (const auto* plan = std::get_if<transfer::SyncRecord>(&record)) {
        if (setup_.is_client || walk_set_) return false;
        offering_.set_plan(*plan);
        return true;
    }
    if (const auto* holds = std::get_if<transfer::HoldsRecord>(&record)) {
        offering_.handle_holds(holds->something);
        return true;
    }
    if (const auto* verdicts = std::get_if<transfer::VerdictsRecord>(&record))
        return offering_.handle_verdicts(*verdicts);
    if (const auto* settled = std::get_if<transfer::SettledRecord>(&record))
        return offering_.handle_settled(*settled);
    if (const auto* gone = std::get_if<transfer::GoneRecord>(&record)) {
        if (!offering_.erases()) return false;
        ++outcome_.deleted;
        if (setup_.changes != nullptr)
            setup_.changes->put({transfer::Change::What::remove, gone->name, gone->directory});
        return true;
    }
    if (const auto* missed = std::get_if<transfer::MissedRecord>(&record)) {
        offering_.handle_missed(*missed);
        outcome_.add_failure(missed->name, Error{.fault = missed->fault,
                                                 .message = missed->message,
                                                 .path = missed->name,
                                                 .side = Side::remote,
                                                 .remedy = missed->remedy});
        return true;
    }
    return false;
}

bool SendSide::may_tell() const {
    return setup_.changes == nullptr || setup_.changes->has_room();
}

void SendSide::set_walk(const transfer::WalkRecord& walk) {
    walk_set_ = true;
    ports::WalkOptions options{.links = walk.links, .archive = walk.archive};
    if (!walk.rules.empty()) {
        options.excluded = [filter = transfer::Filter(walk.rules)](const std::string& name,
                                                                   bool directory) {
            return filter.excludes(name, directory);
        };
    }
    offering_.set_options(std::move(options));
    if (walk.archive) source_.set_archive();
}

void SendSide::compare() {
    offering_.turn(source_.idle());
    // A walk, or a reader, that nothing waits for must not hide that the network carries nothing.
    const bool idle = wants_done_ && source_.idle();
    disk_watch_.look(now_,
                     (idle && offering_.walking()) || source_.disk_works() || offering_.working(),
                     disk_events_ + offering_.looked() + offering_.read());
    const bool unread = idle && (offering_.unread() || !may_tell());
    if (unread || source_.digesting() || disk_watch_.working(now_)) ask_for_patience();
}

// What is read, walked through or digested may take minutes, and who reads what is told of a sync
// as long as he likes: the receiver must not take that for a standstill.
void SendSide::ask_for_patience() {
    last_progress_ = now_;
    if (now_ < patience_at_) return;
    set_.out().put(transfer::DigestRecord{.what = transfer::DigestRecord::What::patience});
    patience_at_ = now_ + kPatience;
}

void SendSide::feed_walker() {
    while (!names_left_.empty() && offering_.add(names_left_.front())) {
        names_left_bytes_ -= memory_of(names_left_.front());
        names_left_.pop_front();
    }
    if (!names_left_.empty() || !wants_done_ || names_ended_) return;
    offering_.no_more();
    names_ended_ = true;
}

}  // namespace lambda::engine
