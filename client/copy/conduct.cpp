#include "client/copy/conduct.h"

#include "client/remote/server_names.h"
#include "client/transfer/destination.h"
#include "client/transfer/landing.h"
#include "client/transfer/offer.h"
#include "client/waiting.h"
#include "common/base/name_parts.h"
#include "common/dialling/retry.h"
#include "common/session/facts.h"
#include "common/transfer/filter.h"

namespace lambda::client {
namespace {

using session::Direction;

Fault fault_of(int code) {
    if (code == 501) return Fault::usage;
    if (code == 530) return Fault::session;
    if (code == 550 || code == 553) return Fault::file;
    if (code == 500 || code == 502 || code == 504) return Fault::unsupported;
    return Fault::cut;  // 425, 450: later it may do
}

std::string raw(const transfer::Record& record) {
    std::vector<std::byte> bytes;
    transfer::append_record(bytes, record);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// For an answer to what matters little.
constexpr Duration kGivingBack = std::chrono::seconds(5);

std::optional<std::uint64_t> number_of(const session::Reply& reply) {
    const auto facts = session::Facts::parse(reply.text());
    const std::string* const number = facts ? facts->facts.find("copy") : nullptr;
    return number != nullptr ? session::parse_number(*number) : std::nullopt;
}

}  // namespace

std::optional<CopyTry> CopyConductor::run() {
    error_.reset();
    stood_ = agreed_ = moved_ = unreached_ = false;
    std::optional<CopyTry> ended;
    if (!open(Role::source) || !open(Role::destination) || !look() || !end_lost(ended))
        return std::nullopt;
    if (ended) return ended;
    CopyTry done;
    refused_.reset();
    const bool source_first = arguments_.connect == Connect::source;
    for (const Role dialler : {source_first ? Role::source : Role::destination,
                               source_first ? Role::destination : Role::source}) {
        const Outcome outcome = copy(dialler, done);
        if (outcome == Outcome::copied) {
            tell_refused();
            return done;
        }
        unreached_ = outcome == Outcome::unreached;
        if (!unreached_ || arguments_.connect != Connect::either) break;
        LAMBDA_ASSERT(source_ && destination_);
        if (dialler == Role::destination) refused_ = error_;
    }
    if (refused_) join_refused();
    return std::nullopt;
}

std::string CopyConductor::path_at(Role role, const std::string& name) const {
    if (name.starts_with('/')) return name;
    const std::string root = path_at_server(end(role).path);
    if (contents_) return joined(root, name);
    if (role == Role::source) return root.substr(0, root.rfind('/') + 1) + name;
    return several_ ? joined(root, name) : root;
}

std::vector<mover::Outcome> CopyConductor::take_cut(bool anyway) {
    if (anyway && lost_ && lost_->seen) {
        cut_.push_back(*std::move(lost_->seen));
        lost_->seen.reset();
    }
    return std::exchange(cut_, {});
}

bool CopyConductor::fail(Error error, std::optional<Role> role) {
    error_ = CopyError{std::move(error), role};
    return false;
}

bool CopyConductor::open(Role role) {
    Access access = arguments_.access();
    if (role == Role::source && !plan_.one_password) {
        access.password_file = arguments_.source_password_file;
        access.password_names = arguments_.source_password_names;
    }
    auto opened = open_connection(end(role).server, access,
                                  [&](const std::string& text) { report_.note(text); });
    if (!opened && opened.error().side == Side::local) return fail(opened.error(), std::nullopt);
    if (!opened) return fail(opened.error(), role);
    session(role) = *std::move(opened);
    // A user may be asked for the other's key and password, longer than a login may take.
    if (auto sent = session(role)->flush(); !sent) return fail(sent.error(), role);
    return true;
}

// What the source is, and, once, whether the target is a directory: so that each try means the
// same, whatever the one before has made.
bool CopyConductor::look() {
    if (!plan_.names.empty()) {
        several_ = stood_ = true;
        report_.session_stands();
        return true;
    }
    const auto at_source = source_->exchange("MLST", plan_.source.path);
    if (!at_source) return fail(at_source.error(), Role::source);
    if (at_source->code != 250) {
        Error refused = refusal(*at_source, fault_of(at_source->code), plan_.source.path);
        if (transfer::has_wildcards(plan_.source.path))
            refused.remedy = "a copy takes no patterns: name the directory, with --include";
        return fail(std::move(refused), Role::source);
    }
    const auto source = entry_in(*at_source);
    size_.reset();
    if (source && source->type == session::EntryType::file) size_ = source->size;
    return settle(source ? &*source : nullptr);
}

bool CopyConductor::settle(const session::Entry* source) {
    const auto at_target = destination_->exchange("MLST", plan_.destination.path);
    if (!at_target) return fail(at_target.error(), Role::destination);
    report_.session_stands();
    stood_ = true;
    if (settled_) return true;
    const auto target = entry_in(*at_target);
    const bool tree = source != nullptr && source->type == session::EntryType::directory;
    // By another name of the server, too: two may show one key.
    const bool one = source_->peer() == destination_->peer() &&
                     source_->peer_fingerprint() == destination_->peer_fingerprint() &&
                     plan_.source.server.user == plan_.destination.server.user;
    if (one && tree && plan_.names.empty() && arguments_.walk.rules.empty() &&
        is_within(plan_.destination.path, plan_.source.path)) {
        return fail(lies_within(plan_.destination.argument), std::nullopt);
    }
    const bool into = plan_.destination.path.ends_with('/') ||
                      (target && target->type == session::EntryType::directory);
    // A tree that becomes the target, or became it in an earlier run, is what it holds, in a
    // directory of that name; of a sync it always is, also where a link leads to it.
    const bool becomes = tree && !plan_.contents && !plan_.destination.path.ends_with('/');
    began_ = plan_.landing && plan_.landing->goes_on();
    bool whole = becomes && (!into || began_);
    becomes_ = whole && !arguments_.plan.whole;
    if (arguments_.plan.whole && !plan_.contents) {
        const auto within = source_->exchange("MLST", plan_.source.path + "/.");
        if (!within) return fail(within.error(), Role::source);
        whole = within->code == 250;
    }
    contents_ = plan_.contents || whole;
    several_ = contents_ || into;
    settled_ = true;
    return true;
}

// It writes what the next one is to write. One that came to its end while nobody listened is done.
bool CopyConductor::end_lost(std::optional<CopyTry>& ended) {
    using What = session::CopyOrder::What;
    if (!lost_) return true;
    Connection& connection = *session(lost_->dialler);
    const auto order = [this](What what) {
        return session::format_copy_order(
            {.what = what, .copy = lost_->copy, .grant = lost_->grant});
    };
    const auto told = connection.exchange("COPY", order(What::cancel));
    if (!told) return fail(told.error(), lost_->dialler);
    const auto queued = connection.send("COPY", order(What::wait));
    LAMBDA_ASSERT(queued.ok());
    const auto last = hear_copy(connection, report_, [](const auto&) {});
    if (!last) return fail(last.error(), lost_->dialler);
    Lost lost = *std::exchange(lost_, std::nullopt);
    auto result = session::parse_copy_result(*last);
    const bool whole = result && !result->cut;
    if (lost.seen) {
        std::optional<Error> cut = std::move(lost.seen->cut);
        if (result) lost.seen = whole ? mover::Outcome() : outcome_of(*result);
        lost.seen->cut = std::move(cut);
        cut_.push_back(*std::move(lost.seen));
    }
    if (whole) ended = CopyTry{.dialler = lost.dialler, .result = *std::move(result)};
    return true;
}

session::GrantRequest CopyConductor::grant_request(Role granter, Role dialler) {
    const bool puts = granter == Role::destination;
    return {.direction = dialler == Role::destination ? Direction::get : Direction::put,
            .peer = session(dialler)->peer_fingerprint(),
            .size = size_,
            .contents = granter == Role::source && contents_,
            .several = puts && several_,
            .follow = granter == Role::source && arguments_.walk.links == ports::Links::follow,
            .archive = arguments_.walk.archive,
            .sync = puts && !arguments_.plan.is_default() ? raw(arguments_.plan) : std::string(),
            .names = puts ? std::vector<std::string>() : plan_.names,
            .found = puts ? std::nullopt : plan_.found,
            .again = again(),
            .path = end(granter).path};
}

std::optional<std::string> CopyConductor::grant(Role granter,
                                                const session::GrantRequest& request) {
    if (!send_ahead(granter, session::ahead_of(request))) return std::nullopt;
    const auto reply = session(granter)->exchange("GRANT", session::format_grant_request(request));
    if (!reply) {
        fail(reply.error(), granter);
        return std::nullopt;
    }
    auto token = session::parse_grant(reply->text());
    if (reply->code == 200 && token) return *std::move(token);
    fail(refusal(*reply, fault_of(reply->code), end(granter).path), granter);
    return std::nullopt;
}

// What nobody will present: an account has a bounded number of grants that wait. False: its session
// does not answer, and is left; the grant ends by itself then.
bool CopyConductor::give_back(Role granter, const std::string& token) {
    std::unique_ptr<Connection>& session_of = session(granter);
    if (!session_of) return true;
    if (session_of->send("GRANT", session::format_grant(token)) && session_of->receive(kGivingBack))
        return true;
    session_of.reset();
    return false;
}

// What is longer than a line.
bool CopyConductor::send_ahead(Role role, const std::string& bytes) {
    const auto taken = ask_all(*session(role), "COPY", session::format_ahead(bytes),
                               [&](std::size_t) -> Result<void> {
                                   const auto reply = session(role)->receive();
                                   if (!reply) return reply.error();
                                   if (reply->code == 200) return {};
                                   return refusal(*reply, fault_of(reply->code), end(role).path);
                               });
    return taken || fail(taken.error(), role);
}

session::CopyRequest CopyConductor::copy_request(Role dialler) {
    const Role granter = other(dialler);
    session::CopyRequest request;
    request.terms = make_terms(arguments_.settings, arguments_.beside);
    request.terms.direction = dialler == Role::destination ? Direction::get : Direction::put;
    // The timetable's part is the conducting server's.
    request.terms.highest_rate = arguments_.settings.rate_limit;
    request.hours = arguments_.settings.rate_hours;
    // Which is faster here says nothing of the two machines that compute it.
    request.terms.cipher = arguments_.settings.cipher.value_or(session::Cipher::aes_128_gcm);
    request.host = end(granter).server.host;
    request.port = end(granter).server.port;
    request.peer = session(granter)->peer_fingerprint();
    request.there = end(granter).path;
    request.contents = contents_;
    request.several = several_;
    request.detach = arguments_.detach;
    transfer::WalkRecord walk = arguments_.walk;
    // Names begin below the tree then, and the user's patterns at it.
    if (becomes_) walk.rules = rules_within(base_name(plan_.source.path), walk.rules);
    request.walk = raw(walk);
    if (!arguments_.plan.is_default()) {
        transfer::SyncRecord plan = arguments_.plan;
        plan.rules.clear();  // they stand in the walk
        request.sync = raw(plan);
    }
    request.names = plan_.names;
    request.found = plan_.found;
    request.again = again();
    request.path = end(dialler).path;
    return request;
}

CopyConductor::Outcome CopyConductor::copy(Role dialler, CopyTry& done) {
    const Role granter = other(dialler);
    session::CopyRequest request = copy_request(dialler);
    const auto token = grant(granter, grant_request(granter, dialler));
    if (!token) {
        return error_->error.fault == Fault::unsupported ? Outcome::unreached : Outcome::failed;
    }
    request.grant = *token;
    done.dialler = dialler;
    const Outcome outcome = copy_by(dialler, request, done);
    const bool presented = agreed_ || lost_ || done.detached;
    if (!presented && !give_back(granter, *token) && outcome == Outcome::unreached)
        return Outcome::failed;  // the other way needs the granter's session
    return outcome;
}

CopyConductor::Outcome CopyConductor::copy_by(Role dialler, const session::CopyRequest& request,
                                              CopyTry& done) {
    if (!send_ahead(dialler, session::ahead_of(request))) return Outcome::failed;
    Connection& connection = *session(dialler);
    if (auto queued = connection.send("COPY", session::format_copy_request(request)); !queued) {
        fail(queued.error(), std::nullopt);
        return Outcome::failed;
    }
    const auto reply = connection.receive();
    if (!reply) {
        fail(reply.error(), dialler);
        return Outcome::failed;
    }
    if (reply->code != 150) {
        fail(refusal(*reply, fault_of(reply->code), {}), dialler);
        return error_->error.fault == Fault::unsupported ? Outcome::unreached : Outcome::failed;
    }
    if (becomes_ && plan_.landing) {
        marked_ = true;
        plan_.landing->begins();
    }
    if (const auto number = number_of(*reply))
        lost_ = Lost{.dialler = dialler, .copy = *number, .grant = request.grant};
    const Outcome outcome = follow(dialler, done);
    const bool made = outcome == Outcome::copied && !made_nothing(outcome_of(done.result));
    began_ = began_ || made || outcome == Outcome::failed;
    return outcome;
}

CopyConductor::Outcome CopyConductor::follow(Role dialler, CopyTry& done) {
    mover::Outcome seen;
    std::optional<Time> since;
    const auto last = hear_copy(*session(dialler), report_, [&](const session::CopyStatus& status) {
        if (!since) since = now();
        seen = outcome_of(status, now() - *since);
        moved_ = moved_ || status.bytes > 0 || status.files > 0;
        if (std::exchange(agreed_, true)) return;
        session(other(dialler)).reset();
        tell_refused();
    });
    if (!last) {
        seen.cut = last.error();
        if (agreed_ && lost_) lost_->seen = std::move(seen);
        fail(last.error(),
             last.error().side == Side::local ? std::nullopt : std::optional<Role>(dialler));
        return Outcome::failed;
    }
    lost_.reset();
    if (arguments_.detach && last->code == 250) {
        done.detached = number_of(*last);
        if (done.detached) return Outcome::copied;
    }
    auto result = session::parse_copy_result(*last);
    if (!result) {
        fail(refusal(*last, fault_of(last->code), {}), dialler);
        return Outcome::failed;
    }
    if (result->unreached && !agreed_) {
        fail(*std::move(result->cut), dialler);
        return Outcome::unreached;
    }
    done.result = *std::move(result);
    moved_ = moved_ || dialling::moved_some(outcome_of(done.result));
    return Outcome::copied;
}

}  // namespace lambda::client
