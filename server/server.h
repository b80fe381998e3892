// The whole server: key, accounts, listener, transfers and loop. Made and run by one thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/base/address.h"
#include "common/base/result.h"
#include "config/server_settings.h"
#include "server/accounts.h"

namespace lambda::server {

class Server {
  public:
    // Makes the state directory, key and certificate where they are missing, and listens.
    static Result<std::unique_ptr<Server>> make(config::ServerSettings settings, Accounts accounts);
    ~Server();

    const std::vector<Address>& addresses() const;  // that it listens on

    // Until it was stopped and nothing runs any more.
    void run();
    // Any thread: takes no more connections; running transfers have a while to end, then they are
    // cut. A second call cuts them now.
    void stop();
    // Any thread: for the logins from now on. Sessions of accounts that are gone or changed end.
    void replace_accounts(Accounts accounts);
    // SIGTERM and SIGINT stop; SIGHUP calls `hangup` on the loop's thread,
    // which must not block. Before run().
    Result<void> watch_signals(std::function<void()> hangup);

  private:
    struct State;
    explicit Server(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lambda::server
