// The session's part in copies from server to server: GRANT and COPY (docs/protocol.md §11).
#include <algorithm>
#include <boost/asio/post.hpp>

#include "common/base/hex.h"
#include "common/dialling/waiting.h"
#include "common/io/cipher/random.h"
#include "common/session/facts.h"
#include "server/copy/copies.h"
#include "server/copy/grant_book.h"
#include "server/login.h"
#include "server/offload.h"
#include "server/session.h"

namespace lambda::server {
namespace {

namespace asio = boost::asio;
using session::Reply;

Error cancelled() {
    return Error{.fault = Fault::cut,
                 .message = "the copy was cancelled",
                 .path = {},
                 .side = Side::local,
                 .remedy = "run the same command again to go on with it"};
}

Error vanished() {
    return Error{.fault = Fault::cut,
                 .message = "its client has answered nothing for two minutes",
                 .path = {},
                 .side = Side::local,
                 .remedy = "run the same command again to go on with it"};
}

Error presented_again() {
    return Error{.fault = Fault::cut,
                 .message = "its grant was presented again, by another session",
                 .path = {},
                 .side = Side::remote,
                 .remedy = {}};
}

std::string fresh_token() {
    std::array<std::byte, 16> token{};
    io::fill_random(token);
    return to_hex(token);
}

// A record that stands as a fact; the default where there is none.
template <class R>
Result<R> parse_record(const std::string& bytes, const char* refusal) {
    if (bytes.empty()) return R{};
    transfer::RecordReader reader;
    reader.put(std::as_bytes(std::span(bytes)));
    auto record = reader.next();
    auto* const wanted = record ? std::get_if<R>(&*record) : nullptr;
    if (wanted == nullptr) return session::usage_error(refusal);
    std::vector<std::byte> again;
    transfer::append_record(again, *wanted);
    const bool whole = std::ranges::equal(again, std::as_bytes(std::span(bytes)));
    if (!whole) return session::usage_error(refusal);  // something else stands behind it
    return std::move(*wanted);
}

std::string name_copy(std::uint64_t number) {
    return session::Facts().add("copy", number).text();
}

constexpr const char* kNoWalk = "fact 'walk' is no record WALK";
constexpr const char* kNoSync = "fact 'sync' is no record SYNC";

}  // namespace

// An account hands what it may do itself to another server.
void Session::grant(const std::string& argument) {
    if (!service_.settings.allow_copy) return reply(504, "Copies are switched off here");
    if (const auto given_back = session::parse_grant(argument)) {
        if (!service_.grants.drop(*given_back, user_)) return reply(550, "No such grant waits");
        log("a grant given back");
        return reply(200, "Given back");
    }
    const std::string ahead = std::exchange(ahead_, {});
    Result<session::GrantRequest> request = session::parse_grant_request(argument, ahead);
    if (!request) return reply(501, request.error().sentence());
    const auto plan = parse_record<transfer::SyncRecord>(request->sync, kNoSync);
    if (!plan) return reply(501, plan.error().sentence());
    if (request->direction == session::Direction::put && root_->read_only()) {
        return reply(550, "This account may only read");
    }
    request->path = resolve(place_.directory, request->path);
    const std::string told = std::string(to_string(request->direction)) + " of " + request->path +
                             " granted to " + request->peer;
    const std::string token = fresh_token();
    const Result<void> added = service_.grants.add(
        token, {.account = user_, .password = account_.password, .request = *std::move(request)},
        dialling::now());
    if (!added) return reply(450, added.error().sentence());
    log(told);
    reply(200, session::format_grant(token));
}

// Another server presents what it was handed. In place of a login: it opens one transfer, and
// nothing else.
asio::awaitable<void> Session::present_grant(const std::string& argument) {
    const Result<std::string> token = session::parse_grant(argument);
    if (!token) {
        failed_proof(501, token.error().sentence());
        co_return;
    }
    const std::shared_ptr<const Accounts> accounts = service_.accounts;
    Result<Grant> claimed = service_.grants.claim(*token, connection_.tls().peer_fingerprint(),
                                                  *accounts, dialling::now());
    if (!claimed) {
        failed_proof(530, claimed.error().sentence());
        co_return;
    }
    slot_.stay();
    // The peer has given its older session up, of which nobody may have heard here.
    if (const auto older = service_.grants.running(*token))
        service_.transfers.stop(*older, presented_again());
    auto work = [&] { return open_root(*accounts, service_.settings, claimed->account); };
    Result<io::Root> root = co_await service_.files.run(claimed->account, work);
    if (!root) {
        leave(root.error());
        co_return;
    }
    user_ = claimed->account;
    log("a grant of " + user_ + " presented by " + claimed->request.peer);
    granted_.emplace(Granted{*token, std::move(claimed->password), std::move(claimed->request),
                             std::move(*root)});
    reply(230, "Granted");
}

// Nothing where the grant does not cover it.
std::optional<TransferBounds> Session::granted_bounds(const session::Offer& offer) {
    const session::GrantRequest& request = granted_->request;
    if (granted_->used) {
        reply(530, "The grant was for one transfer");
        return std::nullopt;
    }
    if (offer.terms.direction != request.direction) {
        reply(550, "The grant is for the other direction");
        return std::nullopt;
    }
    const bool put = offer.terms.direction == session::Direction::put;
    if (put && (resolve("/", offer.path) != request.path || offer.several != request.several)) {
        reply(550, "The grant is for another path");
        return std::nullopt;
    }
    TransferBounds bounds{.only = {},
                          .may_follow = request.follow,
                          .may_archive = request.archive,
                          .most_bytes = request.size,
                          .plan = {}};
    if (put) {
        bounds.plan = *parse_record<transfer::SyncRecord>(request.sync, kNoSync);
    } else if (request.names.empty()) {
        bounds.only.push_back(
            {.name = request.path, .pattern = false, .contents = request.contents});
    }
    for (const std::string& name : request.names) {
        bounds.only.push_back({.name = session::path_in(request.path, name),
                               .found = session::found_bytes(request.found, name)});
    }
    return bounds;
}

// False: it was refused, and answered: the account is no more what it was, or it is not its turn.
// Several sessions may have presented what may be presented
// again: one transfer runs at a time. The caller begins it before it waits for anything.
bool Session::takes_turn() {
    if (find_account(*service_.accounts, user_, granted_->password) == nullptr) {
        reply(530, kAnotherAccount);  // since it was presented
        return false;
    }
    if (granted_->request.again == Duration{0}) return true;
    switch (service_.grants.turn(granted_->token, dialling::now())) {
        case GrantBook::Turn::free:
            return true;
        case GrantBook::Turn::taken:
            reply(450, "Another transfer of this grant still runs; try later");
            return false;
        case GrantBook::Turn::over:
            reply(530, "What was granted is done");
            return false;
    }
    LAMBDA_ASSERT(false);
}

asio::awaitable<void> Session::copy(const std::string& argument) {
    if (!service_.settings.allow_copy) {
        reply(504, "Copies are switched off here");
        co_return;
    }
    const auto order = session::parse_copy_order(argument);
    if (!order) {
        reply(501, order.error().sentence());
    } else if (*order) {
        order_copy(**order);
    } else {
        co_await begin_copy(argument);
    }
}

// As of Session::transfer().
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
asio::awaitable<void> Session::begin_copy(const std::string& argument) {
    const std::string ahead = std::exchange(ahead_, {});
    Result<session::CopyRequest> request = session::parse_copy_request(argument, ahead);
    if (!request) {
        reply(501, request.error().sentence());
        co_return;
    }
    auto walk = parse_record<transfer::WalkRecord>(request->walk, kNoWalk);
    auto plan = parse_record<transfer::SyncRecord>(request->sync, kNoSync);
    if (!walk || !plan) {
        reply(501, (walk ? plan.error() : walk.error()).sentence());
        co_return;
    }
    if (plan->erase) plan->rules = walk->rules;
    const bool fetches = request->terms.direction == session::Direction::get;
    if (fetches && root_->read_only()) {
        reply(550, "This account may only read");
        co_return;
    }
    request->path = resolve(place_.directory, request->path);
    auto look = [&]() -> Result<bool> {
        return fetches && lands_in_directory(request->path, request->several, *root_);
    };
    const auto into_directory = co_await service_.files.run(user_, look);
    if (!into_directory) {
        reply(error_reply(into_directory.error()));
        co_return;
    }
    if (service_.stopping) {
        reply(450, "The server stops");
        co_return;
    }
    start_copy({.account = user_,
                .account_stands = {},
                .request = *std::move(request),
                .root = *root_,
                .into_directory = *into_directory,
                .walk = *std::move(walk),
                .plan = *std::move(plan)});
}

#pragma GCC diagnostic pop

void Session::start_copy(Copies::Wish wish) {
    const Account* const account = find_account(*service_.accounts, user_, account_.password);
    if (account == nullptr) {
        return reply(530, "This account is no more, or has another password; log in again");
    }
    wish.account_stands = [&service = service_, user = user_, as_it_was = *account] {
        const Account* const now = find_account(*service.accounts, user, as_it_was.password);
        return now != nullptr && *now == as_it_was;
    };
    const bool detach = wish.request.detach;
    const auto begun = service_.copies.begin(std::move(wish));
    if (const auto* refused = std::get_if<Reply>(&begun)) return reply(*refused);
    const std::uint64_t number = std::get<std::uint64_t>(begun);
    log("copy " + std::to_string(number) + " begins");
    reply(150, name_copy(number));
    follow_copy(number, detach ? Follower::starts : Follower::conducts);
}

void Session::order_copy(const session::CopyOrder& order) {
    using What = session::CopyOrder::What;
    if (order.what == What::list) {
        Reply answer{.code = 211, .lines = {"Copies"}};
        for (const session::CopyStatus& status : service_.copies.list(user_)) {
            answer.lines.push_back(session::format_copy_status(status));
        }
        answer.lines.emplace_back("End");
        return reply(answer);
    }
    if (order.what == What::ahead) {
        if (ahead_.size() + order.part.size() > session::kMaxAhead) {
            ahead_.clear();
            return reply(501, "That is more than 512 KiB to go ahead");
        }
        ahead_ += order.part;
        return reply(200, "Go on");
    }
    if (order.what == What::cancel) {
        switch (service_.copies.cancel(order.copy, user_, cancelled(), order.grant)) {
            case Copies::Cancel::unknown:
                return reply(550, "There is no such copy");
            case Copies::Cancel::ended:
                return reply(550, "That copy has ended already; nothing was cancelled");
            case Copies::Cancel::told:
                return reply(250, "Cancelled");
        }
        LAMBDA_ASSERT(false);
    }
    if (!follow_copy(order.copy, Follower::waits, order.grant)) reply(550, "There is no such copy");
}

// False: there is no such copy of this account.
bool Session::follow_copy(std::uint64_t number, Follower how, const std::string& grant) {
    const bool owns = how != Follower::waits;
    const bool leaves = how == Follower::starts;
    const std::weak_ptr<Session> weak = weak_from_this();
    Copies& copies = service_.copies;
    const auto end = [&copies, number, user = user_](const Error& why) {
        copies.leave(number, user, why);
    };
    Copies::Watcher watcher{
        .moved =
            [weak, number, owns, leaves, end](const session::CopyStatus& status) {
                const auto self = weak.lock();
                if (!self) return true;
                if (owns && self->connection_.peer_vanished()) end(vanished());
                self->tell(112, format_copy_status(status));
                if (leaves) self->finish({250, {name_copy(number)}});
                return !leaves;
            },
        .ended =
            [weak, number, owns](session::CopyResult result) {
                const auto self = weak.lock();
                if (!self) return;
                if (owns) self->tell_changes(number, SIZE_MAX);
                result.unsaid = std::exchange(self->unsaid_, 0);
                self->finish(format_copy_result(result));
            }};
    if (owns) {
        watcher.changed = [weak] {
            const auto self = weak.lock();
            if (!self) return;
            self->changed_ = true;
            self->connection_.wake();
        };
    }
    const auto ticket = service_.copies.watch(number, user_, std::move(watcher), grant);
    if (!ticket) return false;
    std::function<void(const std::string&)> cancel;
    if (owns) {
        cancel = [end](const std::string&) { end(cancelled()); };
    } else {
        cancel = [&copies, number, ticket = *ticket, weak](const std::string&) {
            const auto self = weak.lock();
            if (!copies.unwatch(number, ticket) || !self) return;
            // Not from within the activity that ends by it.
            asio::post(self->connection_.executor(), [weak] {
                const auto later = weak.lock();
                if (later && later->activity_) later->finish({426, {"Nobody waits any more"}});
            });
        };
    }
    begin({.cancel = std::move(cancel),
           .status = [number] { return "Copy " + std::to_string(number); },
           .speak =
               [this, number, owns] {
                   if (owns) tell_changes(number, kMostUnsent);
               }});
    return true;
}

// Of a sync, until so many bytes wait to be read.
void Session::tell_changes(std::uint64_t number, std::size_t most_unsent) {
    constexpr std::size_t kAtOnce = 64;
    while (output_.size() < most_unsent) {
        const auto changes = service_.copies.take_changes(number, kAtOnce);
        if (changes.empty()) return;
        for (const transfer::Change& change : changes) {
            const auto text = session::format_copy_change({.word = to_string(change.what),
                                                           .path = change.name,
                                                           .directory = change.directory,
                                                           .size = change.size});
            if (text) reply(113, *text);
            unsaid_ += text ? 0 : 1;
        }
    }
    changed_ = true;
}

// A preliminary reply of what runs; dropped while the client does not read.
void Session::tell(int code, const std::string& text) {
    if (!activity_ || output_.size() > kMostUnsent) return;
    reply(code, text);
    changed_ = true;
    connection_.wake();
}

}  // namespace lambda::server
