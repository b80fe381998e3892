// Which command is answered by what.
#include "common/base/units.h"
#include "common/dialling/waiting.h"
#include "common/session/facts.h"
#include "common/session/terms.h"
#include "config/endpoint.h"
#include "server/listing.h"
#include "server/login.h"
#include "server/plain_commands.h"
#include "server/session.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;

// Of a listing, in hand at once.
constexpr std::size_t kListingBytes = 64 * KiB;

// What a stranger says he is, for the log.
std::string shown(const std::string& name) {
    return is_account_name(name) ? name : "a name that no account has";
}

}  // namespace

asio::awaitable<void> Session::answer(session::Line line) {
    if (line.fault != session::LineFault::none) {
        reply(line.fault == session::LineFault::too_long ? 500 : 501, to_string(line.fault));
        co_return;
    }
    const Result<session::Command> command = session::parse_command(line.text);
    if (!command) {
        reply(500, command.error().sentence());
    } else if (command->verb == "QUIT") {
        reply(221, "Goodbye");
        closing_ = quit_ = true;
    } else if (command->verb == "AUTH") {
        reply(503, "TLS stands already");
    } else if (const auto plain = answer_plain_command(*command)) {
        reply(*plain);
    } else if (root_) {
        co_await answer_account(*command);
    } else {
        co_await answer_stranger(*command);
    }
}

asio::awaitable<void> Session::answer_stranger(const session::Command& command) {
    if (command.verb == "USER" && !granted_) {
        co_await user(command.argument);
    } else if (command.verb == "PASS" && !granted_) {
        co_await pass(command.argument);
    } else if (command.verb == "JOIN" && !granted_) {
        co_await join(command.argument);
    } else if (command.verb == "GRANT" && !granted_) {
        co_await present_grant(command.argument);
    } else if (command.verb == "XFER" && granted_) {
        co_await transfer(command.argument);
    } else if (command.verb == "ABOR" && granted_) {
        abort();
    } else if (command.verb == "RATE" && granted_) {
        limit_rate(command.argument);
    } else if (command.verb == "STAT" && granted_) {
        status();
    } else {
        reply(530, "Log in first");
    }
}

asio::awaitable<void> Session::answer_account(const session::Command& command) {
    const std::string& verb = command.verb;
    if (is_file_command(verb)) {
        const std::optional<std::string> change = change_of(command, place_);
        auto work = [&]() -> Result<session::Reply> {
            return run_file_command(command, *root_, place_);
        };
        const auto answer = co_await service_.files.run(user_, work);
        if (change && answer && answer->positive()) log(user_ + " " + *change);
        reply(answer ? *answer : error_reply(answer.error()));
        co_return;
    }
    place_.rename_from.reset();
    if (verb == "MLSD") {
        co_await list(command.argument);
    } else if (verb == "XFER") {
        co_await transfer(command.argument);
    } else if (verb == "GRANT") {
        grant(command.argument);
    } else if (verb == "COPY") {
        co_await copy(command.argument);
    } else if (verb == "STAGE") {
        co_await stage(command.argument);
    } else if (verb == "SIGN") {
        sign(command.argument);
    } else if (verb == "CKSM") {
        checksum(command.argument);
    } else if (verb == "ABOR") {
        abort();
    } else if (verb == "RATE") {
        limit_rate(command.argument);
    } else if (verb == "STAT") {
        status();
    } else if (verb == "USER" || verb == "PASS" || verb == "JOIN") {
        reply(503, "This session is logged in already");
    } else {
        reply(502, verb + " is not known here");
    }
}

void Session::abort() {
    if (!activity_) return reply(225, "Nothing runs");
    activity_->cancel("the client ended the transfer");
    if (++aborts_ > kMaxInHand) closing_ = true;
}

void Session::limit_rate(const std::string& argument) {
    const std::optional<std::uint64_t> bits = session::parse_number(argument);
    if (!bits || *bits > session::kMaxRate)
        return reply(501, "RATE takes bits a second, 0 for no limit");
    if (!activity_ || !activity_->limit) return reply(503, "No transfer runs");
    activity_->limit(BitRate{static_cast<double>(*bits)});
    reply(200, "So be it");
}

void Session::status() {
    session::Reply answer{.code = 211, .lines = {"lambda-ftpd", "Logged in as " + user_}};
    answer.lines.push_back("TLS 1.3, " + connection_.tls().cipher_name());
    if (activity_) answer.lines.push_back(activity_->status());
    answer.lines.emplace_back("End");
    reply(answer);
}

asio::awaitable<void> Session::user(const std::string& name) {
    user_ = name;
    const std::optional<std::string> proved = connection_.tls().verified_client_name();
    const std::shared_ptr<const Accounts> accounts = service_.accounts;
    if (proved && *proved == name && accounts->contains(name)) {
        slot_.stay();
        auto work = [&] { return open_root(*accounts, service_.settings, name); };
        Result<io::Root> root = co_await service_.files.run(user_, work);
        if (!root) {
            leave(root.error());
            co_return;
        }
        root_ = *std::move(root);
        account_ = accounts->at(name);
        log("logged in as " + name + " by certificate, from " + config::format_endpoint(peer_));
        reply(232, "Logged in by your certificate");
        co_return;
    }
    std::string doubt = connection_.tls().client_doubt();
    if (!doubt.empty() && service_.settings.client_ca.empty()) doubt = "client_ca is not set";
    if (proved) doubt = *proved == name ? "there is no such account" : "it is of " + *proved;
    if (doubt.empty()) {
        reply(331, "Say the password by PASS");
    } else {
        log(service_.untaken, "the certificate is not taken for " + shown(name) + ": " + doubt);
        reply(331, "Your certificate is not taken (" + doubt + "), and no password was said");
    }
}

asio::awaitable<void> Session::pass(const std::string& password) {
    if (user_.empty()) {
        reply(503, "Say USER first");
        co_return;
    }
    const std::shared_ptr<const Accounts> accounts = service_.accounts;
    const auto account = accounts->find(user_);
    const auto known = [&] {
        return account != accounts->end() &&
               service_.known_logins.knows(account->second.password, password, dialling::now());
    };
    if (!known()) {
        auto verify = [&]() -> Result<bool> {
            if (service_.ending) return stopping_error(Side::remote);
            if (known()) return true;  // by one that waited before it
            const auto proved = proves(*accounts, user_, password);
            if (proved && *proved)
                service_.known_logins.add(account->second.password, password, dialling::now());
            return proved;
        };
        const auto proved =
            co_await service_.passwords.run(Admission::host_of(peer_), verify, &proof_);
        if (!slot_) co_return;
        if (!proved) {
            leave(proved.error());
            co_return;
        }
        if (!*proved) {
            const std::string why = "Wrong user or password";
            log("refused: " + why + ", for " + shown(user_) + ", from " +
                config::format_endpoint(peer_));
            failed_try(530, why);
            co_return;
        }
    }
    slot_.stay();
    auto open = [&] { return open_root(*accounts, service_.settings, user_); };
    Result<io::Root> root = co_await service_.files.run(user_, open);
    if (!root) {
        leave(root.error());
        co_return;
    }
    root_ = *std::move(root);
    account_ = account->second;
    log("logged in as " + user_ + ", from " + config::format_endpoint(peer_));
    reply(230, root_->read_only() ? "Logged in; this account may only read" : "Logged in");
}

void Session::leave(const Error& why) {
    reply(421, why.sentence());
    closing_ = true;
}

void Session::failed_try(int code, const std::string& text) {
    reply(code, text);
    if (++failed_tries_ >= service_.settings.login_tries) closing_ = true;
}

void Session::failed_proof(int code, const std::string& text) {
    log(service_.unproved, "refused: " + text);
    failed_try(code, text);
}

asio::awaitable<void> Session::list(const std::string& path) {
    const std::string name = resolve(place_.directory, path);
    auto open = [&] { return Listing::open(*root_, name); };
    Result<Listing> listing = co_await service_.files.run(user_, open);
    if (!listing) {
        reply(error_reply(listing.error()));
        co_return;
    }
    auto work = [&] { return listing->next(kListingBytes); };
    Result<std::string> lines = co_await service_.files.run(user_, work);
    if (!lines) {
        reply(error_reply(lines.error()));
        co_return;
    }
    output_ += session::format_reply_start(250, "Listing");
    while (!lines->empty()) {
        output_ += *lines;
        renew_idle_time();
        set_deadline();
        closing_ = !co_await connection_.flush(output_);
        if (closing_) co_return;
        lines = co_await service_.files.run(user_, work);
        if (lines && !revoked() && !stopping_) continue;
        // A reply that has begun cannot turn into an error: a cut session says that it is not
        // whole.
        log("the listing broke off: " + (lines ? "it is not to go on" : lines.error().sentence()));
        closing_ = true;
        co_return;
    }
    reply(250, "End");
}

}  // namespace lambda::server
