#include "common/receipt/account.h"

#include "common/transfer/sync_plan.h"

namespace lambda::receipt {
namespace {

using OfferKind = transfer::OfferRecord::Kind;
using transfer::Verdict;

constexpr std::size_t kPortion = 64 * 1024;

}  // namespace

Account::Account(bool receives, Take take) : receives_(receives), take_(std::move(take)) {
    put(kFirstLine);
}

void Account::passes(const transfer::Record& record) {
    std::visit([this](const auto& each) { pass(each); }, record);
}

Tally Account::finish() {
    flush();
    tally_.lines = lines_.finish();
    return tally_;
}

void Account::pass(const transfer::FileRecord& record) {
    FileLine line;
    line.path = record.name;
    line.size = record.size;
    line.mtime_ns = record.mtime_ns;
    announced_[record.file] = {.line = std::move(line)};
}

void Account::pass(const transfer::StrongRecord& record) {
    const auto at = announced_.find(record.file);
    if (at != announced_.end() && !at->second.closed) at->second.line.sha256 = record.digest;
}

void Account::pass(const transfer::CloseRecord& record) {
    const auto at = announced_.find(record.file);
    if (at == announced_.end()) return;
    at->second.closed = true;
    at->second.line.mtime_ns = record.mtime_ns;  // it may have been written to after FILE
    at->second.line.xxh3 = record.digest;
}

// Of one that is closed the receiver may have said DONE already; once it has heard this, it never
// does, and counts on no bound of the sender's.
void Account::pass(const transfer::VoidRecord& record) {
    const auto at = announced_.find(record.file);
    if (at != announced_.end() && (receives_ || !at->second.closed)) announced_.erase(at);
}

void Account::pass(const transfer::RefuseRecord& record) {
    announced_.erase(record.file);
}

void Account::pass(const transfer::DoneRecord& record) {
    const auto node = announced_.extract(record.file);
    if (node.empty() || node.mapped().line.xxh3 != record.digest) return;
    put(node.mapped().line);
}

// ---- what stood there already

std::string Account::name_of(const std::string& leaf) const {
    const bool top = entered_.empty() || entered_.back() == ".";
    return top ? leaf : entered_.back() + "/" + leaf;
}

void Account::pass(const transfer::OfferRecord& record) {
    if (record.kind == OfferKind::skipped) return;
    if (record.kind == OfferKind::leave) {
        if (!entered_.empty()) entered_.pop_back();
        return;
    }
    Offered offered{.is_file = record.kind == OfferKind::file, .line = {}};
    if (offered.is_file) {
        offered.line.path = name_of(record.leaf);
        offered.line.size = record.metadata.size;
        offered.line.mtime_ns = record.metadata.mtime_ns;
        offered.line.adopted = true;
    }
    if (record.kind == OfferKind::directory) entered_.push_back(name_of(record.leaf));
    offered_.push_back(std::move(offered));
}

void Account::pass(const transfer::VerdictsRecord& record) {
    for (const std::uint8_t code : record.codes) {
        if (offered_.empty()) return;
        Offered offered = std::move(offered_.front());
        offered_.pop_front();
        const std::uint32_t number = first_offered_++;
        const auto verdict = static_cast<Verdict>(code);
        // One that is blocked moves, once it may: it never turns out to stand there.
        if (verdict == Verdict::similar && offered.is_file) {
            unsettled_.emplace(number, std::move(offered));
        } else {
            judge(std::move(offered), code);
        }
    }
}

void Account::pass(const transfer::DigestRecord& record) {
    const auto at = unsettled_.find(record.offer);
    if (at == unsettled_.end() || record.what != transfer::DigestRecord::What::digest) return;
    at->second.line.xxh3 = record.digests.xxh3;
    at->second.line.sha256 = record.digests.sha256;
}

void Account::pass(const transfer::SettledRecord& record) {
    auto node = unsettled_.extract(record.offer);
    if (!node.empty()) judge(std::move(node.mapped()), record.verdict);
}

void Account::judge(Offered&& offered, std::uint8_t code) {
    const auto verdict = static_cast<Verdict>(code);
    const bool stands = verdict == Verdict::stands || verdict == Verdict::attributes;
    if (!offered.is_file || !stands) return;
    ++tally_.adopted;
    put(offered.line);
}

void Account::pass(const transfer::WantRecord& record) {
    put(to_line(WantedLine{record.name, record.contents, record.pattern}));
}

// ---- lines

void Account::put(const FileLine& line) {
    ++tally_.files;
    tally_.bytes += line.size;
    put(to_line(line));
}

void Account::put(std::string_view line) {
    (waiting_ += line) += '\n';
    if (waiting_.size() >= kPortion) flush();
}

void Account::flush() {
    lines_.add(std::as_bytes(std::span(waiting_)));
    if (take_) take_(waiting_);
    waiting_.clear();
}

}  // namespace lambda::receipt
