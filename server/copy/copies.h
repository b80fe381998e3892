// The copies that this server conducts, and those that have ended lately. They outlive the sessions
// that began them. Loop's thread throughout.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "config/host_rules.h"
#include "config/server_settings.h"
#include "server/copy/copy.h"
#include "server/transfers.h"

namespace lambda::server {

class Copies {
  public:
    // That ended, and are told to who asks. Forgotten first is the one that ended first, of the
    // account or of all.
    static constexpr std::size_t kMostEndedOfAccount = 64;
    static constexpr std::size_t kMostEnded = 256;
    // That have not ended. Between two tries, which may be days, one has no share that would bound
    // them, but a thread.
    static constexpr std::size_t kMost = 512;
    static constexpr std::size_t kMostOfAccount = 64;

    // Who follows a copy, on the loop's thread. `ended` comes once, last.
    struct Watcher {
        // Once both servers have agreed, each second. False: it has heard enough, and goes.
        std::function<bool(const session::CopyStatus&)> moved;
        std::function<void()> changed{};  // of who began a sync: take_changes() has some
        std::function<void(const session::CopyResult&)> ended;
    };
    using Ticket = std::uint64_t;

    // `settings`, `tls`, whose key a copy shows, and `transfers`, of whose share it takes, outlive
    // it, and what `post` reaches outlives the last copy.
    Copies(const config::ServerSettings& settings, const io::TlsContext& tls, Transfers& transfers,
           Transfers::Post post);

    // What a session asks for, once its account's rights and its target were looked at.
    struct Wish {
        std::string account;
        // Asked before each further try, on the loop's thread: the account is still what it was.
        std::function<bool()> account_stands;
        session::CopyRequest request;
        io::Root root;
        bool into_directory = false;
        transfer::WalkRecord walk;
        transfer::SyncRecord plan;
    };
    // The number of a copy that has begun, or the reply that refuses it: 501, 504 or 450.
    std::variant<std::uint64_t, session::Reply> begin(Wish wish);

    // Of this account alone: another's are not there. Nor are dry runs that have ended.
    std::vector<session::CopyStatus> list(const std::string& account) const;
    enum class Cancel { unknown, ended, told };
    // `grant`, here and below: that it began with, by which who lost sight of it knows it from one
    // that has its number since this server was restarted; empty: any.
    Cancel cancel(std::uint64_t number, const std::string& account, const Error& why,
                  const std::string& grant = {});
    // Its session is over: a cut as any other.
    void leave(std::uint64_t number, const std::string& account, const Error& why);
    // Nothing where there is no such copy. One that has ended tells so soon.
    std::optional<Ticket> watch(std::uint64_t number, const std::string& account, Watcher watcher,
                                const std::string& grant = {});
    // What a sync did, the oldest first; nothing once it is over and `ended` was called.
    std::vector<transfer::Change> take_changes(std::uint64_t number, std::size_t most);
    // False where the watcher has heard of the end already.
    bool unwatch(std::uint64_t number, Ticket ticket);

    void stop_all(const Error& why);
    std::size_t running() const;
    // At the loop's end: waits for the threads of those that still run.
    void abandon();

  private:
    struct Entry {
        std::string account;
        std::string grant;
        std::function<bool()> account_stands;
        std::unique_ptr<Copy> copy;  // while it runs
        session::Terms wanted;
        bool dry_run = false;
        bool cancelled = false;
        Transfers::Share share;  // none while it rests
        std::map<Ticket, Watcher> watchers;
        // Once it has ended: as which of all, how far, and what it came to.
        std::uint64_t end = 0;
        session::CopyStatus status;
        session::CopyResult result;
    };
    Entry* find(std::uint64_t number, const std::string& account, const std::string& grant = {});
    bool room_for(const std::string& account) const;
    void tell(std::uint64_t number);
    void tell_changes(std::uint64_t number);
    void rest(std::uint64_t number);
    void wake(std::uint64_t number);
    void end(std::uint64_t number);
    void tell_end(std::uint64_t number, Ticket ticket);
    void forget_oldest(const std::string& account);

    const config::ServerSettings& settings_;
    const io::TlsContext& tls_;
    Transfers& transfers_;
    Transfers::Post post_;
    const config::HostRules rules_;
    std::uint64_t next_number_ = 1;
    std::uint64_t next_end_ = 1;
    Ticket next_ticket_ = 1;
    std::map<std::uint64_t, Entry> entries_;
};

}  // namespace lambda::server
