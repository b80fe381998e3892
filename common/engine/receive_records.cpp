// ReceiveSide: what the sender's records say, and what it is asked for.
#include "common/engine/end.h"
#include "common/engine/receive_side.h"

namespace lambda::engine {
namespace {

// The name of the entry that it announces, or null.
const std::string* announced(const transfer::Record& record) {
    if (const auto* file = std::get_if<transfer::FileRecord>(&record)) return &file->name;
    if (const auto* entered = std::get_if<transfer::DirectoryRecord>(&record))
        return &entered->name;
    if (const auto* link = std::get_if<transfer::LinkRecord>(&record)) return &link->name;
    const auto* same = std::get_if<transfer::SameRecord>(&record);
    return same != nullptr ? &same->name : nullptr;
}

Error unasked(const char* what) {
    return Error{.fault = Fault::protocol,
                 .message = what,
                 .path = {},
                 .side = Side::remote,
                 .remedy = "use the same version at both ends, and ends that you trust"};
}

}  // namespace

bool ReceiveSide::handle_records() {
    bool sound = !set_.flooded();
    int taken = 0;
    for (; taken < kRecordsPerTurn && sound && !done_ && comparison_.has_room(); ++taken) {
        const auto record = set_.next();
        if (!record) break;
        last_progress_ = now_;
        sound = handle_record(*record);
    }
    if (set_.broken() || !sound || sink_.scattered()) {
        cut(Error{.fault = Fault::protocol,
                  .message = "the sender sent a record that makes no sense",
                  .path = {},
                  .side = Side::remote,
                  .remedy = "use the same version at both ends"});
    }
    return taken == kRecordsPerTurn;
}

bool ReceiveSide::handle_record(const transfer::Record& record) {
    if (const auto* plan = std::get_if<transfer::SyncRecord>(&record)) {
        if (setup_.only_plan && *plan != *setup_.only_plan) {
            cut(beyond_grant("another sync was granted"));
            return true;
        }
        plan_heard_ = true;
        return !setup_.is_client && !sink_.begun() && set_plan(*plan);
    }
    if (!within_plan()) {
        cut(beyond_grant("more than the granted sync was begun"));
        return true;
    }
    const std::string* const entry = announced(record);
    if (comparison_.dry_run() && entry != nullptr) return false;
    if (setup_.is_client && !wanted_.covers(record, comparison_.at_top())) {
        cut(unasked("the server sends what it was not asked for"));
        return true;
    }
    if (entry != nullptr && !comparison_.may_come(record, *entry)) {
        cut(unasked(setup_.is_client ? "the server sends what the sync leaves as it is"
                                     : "the client sends what its sync leaves as it is"));
        return true;
    }
    if (!setup_.may_archive && transfer::is_archive(record)) {
        cut(beyond_grant("owners and extended attributes were not granted"));
        return true;
    }
    if (!within_grant(record)) {
        cut(beyond_grant("more was announced than was granted"));
        return true;
    }
    if (transfer::Comparison::takes(record)) return comparison_.handle(record);
    const auto* failed = std::get_if<transfer::FailRecord>(&record);
    if (failed != nullptr || std::holds_alternative<transfer::VoidRecord>(record))
        comparison_.note_fault();
    if (failed != nullptr) comparison_.note_failed(failed->name);
    if (entry != nullptr) comparison_.note_sent(*entry);
    if (!sink_.handle(record)) return false;
    if (!std::holds_alternative<transfer::FinishRecord>(record)) return true;
    if (setup_.is_client) miss_unheard();
    return comparison_.handle_finish();
}

// A sync that was granted begins with SYNC.
bool ReceiveSide::within_plan() const {
    return plan_heard_ || !setup_.only_plan || setup_.only_plan->is_default();
}

bool ReceiveSide::within_grant(const transfer::Record& record) const {
    const auto* file = std::get_if<transfer::FileRecord>(&record);
    if (file == nullptr || !setup_.most_bytes) return true;
    std::uint64_t left = *setup_.most_bytes - sink_.totals().bytes_announced;
    for (const Range& range : file->data) {
        if (range.length() > left) return false;
        left -= range.length();
    }
    return true;
}

// A sender that is silent of what it was asked for has not sent it.
void ReceiveSide::miss_unheard() {
    for (const std::string& name : wanted_.unheard()) {
        comparison_.note_fault();
        comparison_.miss(name, Error{.fault = Fault::file,
                                     .message = "the server sent nothing of it",
                                     .path = name,
                                     .side = Side::remote,
                                     .remedy = "use the same version at both ends"});
    }
}

bool ReceiveSide::set_plan(const transfer::SyncRecord& plan) {
    if (plan.whole) sink_.set_replaces();
    return comparison_.set_plan(plan);
}

// The client tells how to walk what, as far as there is room.
void ReceiveSide::ask() {
    if (!walk_sent_ && !setup_.plan.is_default()) set_.out().put(setup_.plan);
    if (!walk_sent_) set_.out().put(setup_.walk);
    walk_sent_ = true;
    while (!wants_.empty() && set_.out().has_room()) {
        set_.out().put(wants_.front());
        wants_.pop_front();
    }
    if (!wants_.empty() || !set_.out().has_room()) return;
    set_.out().put(transfer::WantEndRecord{});
    want_end_sent_ = true;
}

}  // namespace lambda::engine
