// What all sessions of a server share. It outlives them. Loop's thread, but for the pools.
#pragma once

#include <utility>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "common/io/tls/tls.h"
#include "config/server_settings.h"
#include "server/accounts.h"
#include "server/admission.h"
#include "server/copy/copies.h"
#include "server/copy/grant_book.h"
#include "server/fair_pool.h"
#include "server/file_pool.h"
#include "server/known_logins.h"
#include "server/sparse_log.h"
#include "server/transfers.h"

namespace lambda::server {

// `side`: this server, seen by who is told.
Error stopping_error(Side side);

struct Service {
    const config::ServerSettings& settings;
    const io::TlsContext& tls;
    Transfers& transfers;
    Copies& copies;
    // Replaced whole at a reload.
    std::shared_ptr<const Accounts> accounts;
    Admission admission{settings.sessions_max, settings.sessions_per_address};
    GrantBook grants{};
    KnownLogins known_logins{};
    SparseLog gave_way{};
    SparseLog no_tls{};
    SparseLog untaken{};   // certificates
    SparseLog unproved{};  // JOIN and GRANT, which cost a stranger nothing
    bool stopping = false;
    std::atomic<bool> ending{false};  // nothing goes on any more; passwords and checksums look, too

    // scrypt takes 32 MiB and a tenth of a second for each: one at a time, so that strangers cannot
    // take the machine, and by hosts in turn.
    FairPool<Admission::Host> passwords{1, 1};
    // By accounts: one whose file system is silent leaves the others most of the sessions.
    FilePool files{std::max<std::size_t>(8, settings.sessions_max / 8)};
    // Each may read for days: of an account two, so that it leaves others some.
    FairPool<std::string> checksums{8, 2};
};

}  // namespace lambda::server
