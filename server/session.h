// One control session: a coroutine on the loop's thread from the first byte to the end, through
// plain text, TLS, login and commands (docs/protocol.md §1). A stripe's connection is a session
// too, until its JOIN.
#pragma once

#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/io/file/root.h"
#include "common/io/stage/stage.h"
#include "common/session/command.h"
#include "common/session/copy.h"
#include "common/session/reply.h"
#include "server/admission.h"
#include "server/command_queue.h"
#include "server/connection.h"
#include "server/file_commands.h"
#include "server/service.h"
#include "server/sign.h"

namespace lambda::server {

class Session : public std::enable_shared_from_this<Session> {
  public:
    Session(Service& service, boost::asio::ip::tcp::socket socket, Admission::Slot slot,
            std::uint64_t number);

    // Whoever spawns it holds the session until it has begun.
    boost::asio::awaitable<void> run();
    // The server stops: ends the session as soon as nothing runs in it.
    void stop();
    // Service::accounts are others: ends the session, and what runs in it, whose account is gone
    // or was changed.
    void accounts_replaced();

  private:
    // Bytes of what is said: with more, no further command is answered before they are written.
    static constexpr std::size_t kMostUnsent = 64 * 1024;

    // What runs while commands wait: a transfer, a checksum or a copy.
    struct Activity {
        std::function<void(const std::string& why)> cancel;
        std::function<std::string()> status;
        std::function<void(BitRate)> limit{};  // of a transfer's rate
        std::function<void()> speak{};         // more of what it says, where there is room
        std::function<void()> client_done{};   // of a transfer that is to be signed
    };

    // Another server's session, in place of a login.
    struct Granted {
        std::string token;
        std::string password;  // Grant::password
        session::GrantRequest request;
        io::Root root;
        bool used = false;
    };

    // session.cpp: the stages.
    void give_way();
    boost::asio::awaitable<bool> secure();
    boost::asio::awaitable<bool> answer_plain_line(const session::Line& line);
    boost::asio::awaitable<void> serve();
    io::IoStatus read_lines();
    void renew_idle_time();
    void set_deadline();
    bool revoked() const;

    // dispatch.cpp: which command is answered by what.
    boost::asio::awaitable<void> answer(session::Line line);
    boost::asio::awaitable<void> answer_stranger(const session::Command& command);
    boost::asio::awaitable<void> answer_account(const session::Command& command);
    void abort();
    void status();
    void limit_rate(const std::string& argument);

    boost::asio::awaitable<void> user(const std::string& name);
    boost::asio::awaitable<void> pass(const std::string& password);
    void failed_try(int code, const std::string& text);
    void failed_proof(int code, const std::string& text);  // of a JOIN or GRANT
    void leave(const Error& why);                          // what is wrong is ours, and may pass
    boost::asio::awaitable<void> list(const std::string& path);

    // activities.cpp
    boost::asio::awaitable<void> transfer(const std::string& argument);
    boost::asio::awaitable<void> wait_for_former(const std::string& target);
    void transfer_ended(const mover::Outcome& outcome);
    boost::asio::awaitable<void> join(const std::string& argument);
    void sign(const std::string& argument);
    void checksum(const std::string& argument);
    void begin(Activity activity);
    void finish(const session::Reply& reply);

    // ranges.cpp
    // Nothing: it was refused, and answered.
    boost::asio::awaitable<std::shared_ptr<io::RangeClaim>> claim_range(
        const session::RangeOffer& offer, const std::string& target);
    boost::asio::awaitable<void> stage(const std::string& argument);

    // copy/session_copy.cpp
    void grant(const std::string& argument);
    boost::asio::awaitable<void> present_grant(const std::string& argument);
    std::optional<TransferBounds> granted_bounds(const session::Offer& offer);
    bool takes_turn();
    boost::asio::awaitable<void> copy(const std::string& argument);
    boost::asio::awaitable<void> begin_copy(const std::string& argument);
    void start_copy(Copies::Wish wish);
    void order_copy(const session::CopyOrder& order);
    // waits: hears of it. conducts: it ends with the session. starts: until both servers have
    // agreed.
    enum class Follower { waits, conducts, starts };
    bool follow_copy(std::uint64_t number, Follower how, const std::string& grant = {});
    void tell(int code, const std::string& text);
    void tell_changes(std::uint64_t number, std::size_t most_unsent);

    void reply(int code, std::string_view text);
    void reply(const session::Reply& reply);
    void log(std::string_view text) const;
    // Of what a stranger did.
    void log(SparseLog& words, const std::string& text) const;

    Service& service_;
    Connection connection_;
    Admission::Slot slot_;     // empty: it joined, or gave way
    const std::string label_;  // "session 12: "
    const Address peer_;

    session::LineFramer framer_;
    std::string input_;  // decrypted, not yet cut into lines; at most one read
    CommandQueue queue_;
    std::string output_;
    bool closing_ = false;  // after what is written
    bool quit_ = false;     // the client said so
    bool stopping_ = false;
    bool changed_ = false;      // stop() or finish() came since the last look, or a command waits
    std::string ahead_;         // of the next GRANT or COPY, sent before it
    std::uint64_t unsaid_ = 0;  // changes of a sync, whose names fit no line
    bool joined_ = false;       // the connection went to a mover

    Connection::Deadline login_deadline_;
    Connection::Deadline idle_deadline_;
    std::uint32_t failed_tries_ = 0;
    std::uint64_t proof_ = 0;  // the last job of Service::passwords
    std::string user_;
    Account account_;               // as it was at the login
    std::optional<io::Root> root_;  // logged in
    std::optional<Granted> granted_;
    FilePlace place_;

    std::optional<Activity> activity_;
    std::size_t aborts_ = 0;                       // ABORs that wait for the activity's end
    std::optional<Signable> signable_;             // the last transfer, if it is to be signed
    std::optional<session::SignRequest> to_sign_;  // waits for its end
};

// Whether what is written to `target` lands in it under names of its own (docs/protocol.md §3,
// `into`). Blocking.
bool lands_in_directory(const std::string& target, bool several, const io::Root& root);

}  // namespace lambda::server
