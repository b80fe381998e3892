// Comparison: what was offered, and is to come, held against what is announced.
#include "common/transfer/comparison.h"

namespace lambda::transfer {

// What is blocked comes in the end, or fails.
bool Comparison::to_come(const Offered& offered, Verdict verdict) const {
    const bool mends = offered.kind == OfferRecord::Kind::directory &&
                       verdict == Verdict::attributes;  // by being entered
    return !plan_.dry_run && (wanted(verdict) || verdict == Verdict::blocked || mends);
}

bool Comparison::may_come(const Record& entry, const std::string& name) const {
    if (!plan_.whole || to_come_.contains(name)) return true;
    if (!std::holds_alternative<DirectoryRecord>(entry)) return false;
    if (name == ".") return !to_come_.empty();
    const auto within = to_come_.lower_bound(name + "/");
    return within != to_come_.end() && within->first.starts_with(name + "/");
}

void Comparison::note_sent(const std::string& name) {
    const auto at = to_come_.find(name);
    if (at == to_come_.end() || --at->second.times > 0) return;
    to_come_bytes_ -= name.size();
    to_come_.erase(at);
}

void Comparison::note_failed(const std::string& name) {
    const auto at = to_come_.find(name);
    if (at == to_come_.end()) return;
    if (!at->second.directory) return note_sent(name);
    at->second.failed = true;
}

bool Comparison::handle_finish() {
    if (!asked_.empty() || !similar_.empty()) return false;
    for (const auto& [name, entry] : to_come_) {
        if (entry.failed) continue;
        ++faults_;
        miss(name, Error{.fault = Fault::file,
                         .message = "it was offered, and then not sent",
                         .path = name,
                         .side = Side::remote,
                         .remedy = "use the same version at both ends"});
    }
    to_come_.clear();
    return true;
}

}  // namespace lambda::transfer
