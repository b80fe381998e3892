#include "server/copy/copies.h"

#include <algorithm>
#include <utility>

#include "common/io/log.h"

namespace lambda::server {
namespace {

using session::Reply;

// RFC 2577 §3: what listens below is somebody else's service.
constexpr std::uint16_t kLeastPort = 1024;

std::string name_of(std::uint64_t number) {
    return "copy " + std::to_string(number) + ": ";
}

void log_end(std::uint64_t number, const session::CopyResult& result) {
    io::log_info(name_of(number) +
                 (result.cut ? "cut: " + result.cut->sentence() + "; " : "ended: ") +
                 session::format_tally(
                     {.files = result.files, .bytes = result.bytes, .failed = result.failed}));
}

}  // namespace

Copies::Copies(const config::ServerSettings& settings, const io::TlsContext& tls,
               Transfers& transfers, Transfers::Post post)
    : settings_(settings),
      tls_(tls),
      transfers_(transfers),
      post_(std::move(post)),
      rules_(*config::HostRules::parse(settings.copy_hosts)) {}

std::variant<std::uint64_t, Reply> Copies::begin(Wish wish) {
    if (rules_.empty()) {
        return Reply{.code = 504,
                     .lines = {"This server dials no other; its administrator allows it by "
                               "copy_hosts, or lambda-ftpd --copy-host"}};
    }
    if (wish.request.port < kLeastPort) {
        return Reply{.code = 504, .lines = {"Ports below 1024 are not dialled"}};
    }
    if (!room_for(wish.account)) {
        return Reply{.code = 450, .lines = {"Too many copies are under way; try later"}};
    }
    session::Terms wanted = wish.request.terms;
    auto share = transfers_.reserve(wish.account, wanted);
    if (auto* refused = std::get_if<Reply>(&share)) {
        // By 504 a server tells that it dials nobody: the other one is to.
        if (refused->code == 504) refused->code = 501;
        return std::move(*refused);
    }
    auto& taken = std::get<Transfers::Share>(share);
    wish.request.terms = std::move(taken.terms);

    const std::uint64_t number = next_number_++;
    const bool tells_changes = wish.plan.whole && !wish.request.detach;
    const bool dry_run = wish.plan.dry_run;
    const std::string host = wish.request.host;
    const std::string grant = wish.request.grant;
    io::log_info(name_of(number) + "begins for " + wish.account + ": " +
                 to_string(wish.request.terms.direction) + " of " + wish.request.path + ", " +
                 host + ":" + std::to_string(wish.request.port) + " " + wish.request.there);
    auto copy = Copy::make(
        number, {.request = std::move(wish.request),
                 .root = std::move(wish.root),
                 .into_directory = wish.into_directory,
                 .walk = std::move(wish.walk),
                 .plan = std::move(wish.plan),
                 .may_dial = [this, host](const Address& to) { return rules_.allow(host, to); },
                 .identity = &tls_,
                 .socket_buffer = settings_.socket_buffer,
                 .allow_uring = settings_.io_uring,
                 .tells_changes = tells_changes,
                 .moved = [this, number] { post_([this, number] { tell(number); }); },
                 .changed = [this, number] { post_([this, number] { tell_changes(number); }); },
                 .rests = [this, number] { post_([this, number] { rest(number); }); },
                 .wakes = [this, number] { post_([this, number] { wake(number); }); },
                 .ended = [this, number] { post_([this, number] { end(number); }); }});
    const auto refused = [](const Error& error) {
        return Reply{.code = 450, .lines = {error.sentence()}};
    };
    if (!copy) return refused(copy.error());
    Entry entry;
    entry.account = std::move(wish.account);
    entry.grant = grant;
    entry.account_stands = std::move(wish.account_stands);
    entry.copy = *std::move(copy);
    entry.dry_run = dry_run;
    entry.wanted = std::move(wanted);
    entry.share = std::move(taken);
    // Before it starts: what it tells looks for it here.
    const auto entered = entries_.emplace(number, std::move(entry)).first;
    if (auto started = entered->second.copy->start(); !started) {
        entries_.erase(entered);
        return refused(started.error());
    }
    return number;
}

std::vector<session::CopyStatus> Copies::list(const std::string& account) const {
    std::vector<session::CopyStatus> all;
    for (const auto& [number, entry] : entries_) {
        if (entry.account != account || (entry.dry_run && !entry.copy)) continue;
        all.push_back(entry.copy ? entry.copy->status() : entry.status);
    }
    return all;
}

Copies::Cancel Copies::cancel(std::uint64_t number, const std::string& account, const Error& why,
                              const std::string& grant) {
    Entry* const entry = find(number, account, grant);
    if (entry == nullptr) return Cancel::unknown;
    if (!entry->copy) return Cancel::ended;
    entry->cancelled = true;
    entry->copy->cancel(why);
    return Cancel::told;
}

void Copies::leave(std::uint64_t number, const std::string& account, const Error& why) {
    Entry* const entry = find(number, account);
    if (entry != nullptr && entry->copy) entry->copy->cancel(why);
}

std::optional<Copies::Ticket> Copies::watch(std::uint64_t number, const std::string& account,
                                            Watcher watcher, const std::string& grant) {
    Entry* const entry = find(number, account, grant);
    if (entry == nullptr) return std::nullopt;
    const Ticket ticket = next_ticket_++;
    entry->watchers.emplace(ticket, std::move(watcher));
    // It must not hear of the end before it knows that it hears.
    if (!entry->copy) post_([this, number, ticket] { tell_end(number, ticket); });
    return ticket;
}

bool Copies::unwatch(std::uint64_t number, Ticket ticket) {
    const auto found = entries_.find(number);
    return found != entries_.end() && found->second.watchers.erase(ticket) > 0;
}

void Copies::stop_all(const Error& why) {
    for (auto& [number, entry] : entries_) {
        if (entry.copy) entry.copy->cancel(why);
    }
}

std::size_t Copies::running() const {
    return static_cast<std::size_t>(std::count_if(
        entries_.begin(), entries_.end(), [](const auto& entry) { return !!entry.second.copy; }));
}

void Copies::abandon() {
    for (auto& [number, entry] : entries_) entry.copy.reset();
}

bool Copies::room_for(const std::string& account) const {
    std::size_t all = 0;
    std::size_t of_account = 0;
    for (const auto& [number, entry] : entries_) {
        if (!entry.copy) continue;
        ++all;
        of_account += entry.account == account ? 1 : 0;
    }
    return all < kMost && of_account < kMostOfAccount;
}

Copies::Entry* Copies::find(std::uint64_t number, const std::string& account,
                            const std::string& grant) {
    const auto found = entries_.find(number);
    if (found == entries_.end() || found->second.account != account) return nullptr;
    return grant.empty() || grant == found->second.grant ? &found->second : nullptr;
}

void Copies::tell(std::uint64_t number) {
    const auto found = entries_.find(number);
    if (found == entries_.end() || !found->second.copy) return;
    const session::CopyStatus status = found->second.copy->status();
    std::erase_if(found->second.watchers,
                  [&](const auto& watcher) { return !watcher.second.moved(status); });
}

void Copies::tell_changes(std::uint64_t number) {
    const auto found = entries_.find(number);
    if (found == entries_.end() || !found->second.copy) return;
    for (const auto& [ticket, watcher] : found->second.watchers) {
        if (watcher.changed) watcher.changed();
    }
}

std::vector<transfer::Change> Copies::take_changes(std::uint64_t number, std::size_t most) {
    const auto found = entries_.find(number);
    if (found == entries_.end() || !found->second.copy) return {};
    return found->second.copy->take_changes(most);
}

void Copies::end(std::uint64_t number) {
    Entry& entry = entries_.at(number);
    entry.end = next_end_++;
    entry.status = entry.copy->status();
    entry.result = entry.copy->result();
    entry.result.cancelled = entry.cancelled && entry.result.cut;
    log_end(number, entry.result);
    session::forget_untold(entry.result);
    const std::map<Ticket, Watcher> watchers = std::exchange(entry.watchers, {});
    for (const auto& [ticket, watcher] : watchers) watcher.ended(entry.result);
    entry.copy.reset();
    transfers_.release(std::move(entry.share));
    forget_oldest(entry.account);
}

// Between two tries, which may be days, others have the use of it.
void Copies::rest(std::uint64_t number) {
    transfers_.release(std::move(entries_.at(number).share));
}

void Copies::wake(std::uint64_t number) {
    Entry& entry = entries_.at(number);
    if (!entry.account_stands()) {
        entry.copy->take_share(Error{.fault = Fault::session,
                                     .message = "the account that began this copy is no more, or "
                                                "is another by now",
                                     .path = {},
                                     .side = Side::local,
                                     .remedy = "run the same command again"});
        return;
    }
    auto share = transfers_.reserve(entry.account, entry.wanted);
    if (const auto* refused = std::get_if<Reply>(&share)) {
        entry.copy->take_share(Error{.fault = Fault::cut,
                                     .message = refused->text(),
                                     .path = {},
                                     .side = Side::local,
                                     .remedy = {}});
        return;
    }
    entry.share = std::get<Transfers::Share>(std::move(share));
    entry.copy->take_share(entry.share.terms);
}

void Copies::tell_end(std::uint64_t number, Ticket ticket) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) return;
    const auto watcher = found->second.watchers.extract(ticket);
    if (!watcher.empty()) watcher.mapped().ended(found->second.result);
    forget_oldest(std::string(found->second.account));  // it may have been kept for this one
}

void Copies::forget_oldest(const std::string& account) {
    struct Ended {
        std::size_t count = 0;
        std::map<std::uint64_t, Entry>::iterator first;
    } all, own;
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        const Entry& entry = at->second;
        if (entry.copy || !entry.watchers.empty()) continue;
        for (Ended* const ended : {&all, &own}) {
            if (ended == &own && entry.account != account) continue;
            if (ended->count++ == 0 || entry.end < ended->first->second.end) ended->first = at;
        }
    }
    if (own.count > kMostEndedOfAccount) {
        entries_.erase(own.first);
    } else if (all.count > kMostEnded) {
        entries_.erase(all.first);
    }
}

}  // namespace lambda::server
