#include "client/receipt/signing.h"

#include <chrono>
#include <filesystem>

#include "client/remote/password.h"
#include "client/report/utc_text.h"
#include "common/io/tls/signature.h"
#include "common/session/sign.h"

namespace lambda::client {
namespace {

// Clocks differ; by more than a day one of the two says nothing of use.
constexpr std::int64_t kMostSkew = std::chrono::nanoseconds(std::chrono::hours(24)).count();

Error wrong(std::string message, std::string remedy = {}) {
    return Error{.fault = Fault::integrity,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,
                 .remedy = std::move(remedy) +
                           "the files are as they were reported, but there is no receipt"};
}

session::SignRequest request_of(const Plan& plan, const receipt::Tally& tally) {
    session::SignRequest request{.files = tally.files,
                                 .lines = tally.lines,
                                 .server = plan.server.endpoint(),
                                 .destination = {},
                                 .into_directory = false};
    if (plan.direction == session::Direction::get) {
        std::error_code unknown;  // of a working directory that is gone, where nothing is made
        request.destination = std::filesystem::absolute(plan.local_target.path, unknown).string();
        request.into_directory = plan.local_target.into_directory;
    }
    return request;
}

// The transfer's own last reply, and those to changes of its rate, may still come before.
Result<session::Reply> ask(Connection& connection, const session::SignRequest& request) {
    auto reply = connection.exchange("SIGN", session::format_sign(request));
    while (reply && (reply->code == 226 || reply->code == 200)) reply = connection.receive();
    return reply;
}

// Whom the login named.
Result<std::string> account_of(const Server& server, const Access& access) {
    if (!server.user.empty()) return server.user;
    if (!access.certificate.empty()) return find_user(server);
    const auto login = access.logins->find(
        server, access.password_file, [](const std::string&) {}, access.password_names,
        access.may_ask);
    return login ? Result<std::string>(login->user) : login.error();
}

receipt::Statement statement_of(const Connection& connection, const std::string& account,
                                const Plan& plan, bool into_directory, const receipt::Tally& tally,
                                const session::SignRequest& request) {
    const bool put = plan.direction == session::Direction::put;
    const std::string there = path_at_server(plan.remote_target);
    return {
        .direction = plan.direction,
        .server = request.server,
        .account = account,
        .place = !put            ? std::string()
                 : there.empty() ? "/"
                                 : there,
        .destination = request.destination,
        .into_directory = put ? into_directory : request.into_directory,
        .tally = tally,
        .time_ns =
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count(),
        .key = connection.peer_fingerprint()};
}

// That the last lines are what was done, by the key that this session was made with.
Result<void> check(const session::Reply& reply, const receipt::Statement& known) {
    if (reply.code == 550) return wrong("the server's account of the transfer differs from ours");
    if (reply.code != 213 || reply.lines.size() != 3)
        return wrong("the server did not sign: " + reply.text());
    const auto first = receipt::parse_line(reply.lines[1]);
    const auto second = receipt::parse_line(reply.lines[2]);
    const auto* statement = first ? std::get_if<receipt::Statement>(&*first) : nullptr;
    const auto* seal = second ? std::get_if<receipt::Seal>(&*second) : nullptr;
    if (statement == nullptr || seal == nullptr)
        return wrong("the server signed something else than was asked for");
    if (const std::string what = difference(*statement, known); !what.empty())
        return wrong("the server signed another " + what + " than was asked for or done");
    if (std::string apart = clocks_apart(*statement, known); !apart.empty())
        return wrong(std::move(apart), "set the wrong one right; ");
    const io::Fingerprint key = io::fingerprint_of_key(seal->public_key);
    if (key != known.key || key != statement->key ||
        !io::verifies({.bytes = seal->signature, .public_key = seal->public_key},
                      receipt::signed_text(reply.lines[1]))) {
        return wrong("the server's signature is not one by its key");
    }
    return {};
}

}  // namespace

std::string difference(const receipt::Statement& signed_one, const receipt::Statement& known) {
    const receipt::Tally& one = signed_one.tally;
    const receipt::Tally& other = known.tally;
    if (one.lines != other.lines) return "digest of the files";
    if (one.files != other.files) return "number of files";
    if (one.adopted != other.adopted) return "number of adopted files";
    if (one.bytes != other.bytes) return "number of bytes";
    if (signed_one.direction != known.direction) return "direction";
    if (signed_one.server != known.server) return "name of the server";
    if (signed_one.account != known.account) return "account";
    if (signed_one.place != known.place) return "place";
    if (signed_one.destination != known.destination) return "destination";
    if (signed_one.into_directory != known.into_directory) return "way to land in the target";
    return {};
}

std::string clocks_apart(const receipt::Statement& signed_one, const receipt::Statement& known) {
    const std::int64_t earliest = known.time_ns - kMostSkew;
    const std::int64_t latest = known.time_ns + kMostSkew;
    if (signed_one.time_ns >= earliest && signed_one.time_ns <= latest) return {};
    constexpr std::int64_t kSecond = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
    return "the server's clock says " + utc_text(signed_one.time_ns / kSecond) +
           ", this machine's " + utc_text(known.time_ns / kSecond);
}

Result<void> sign_receipt(Connection& connection, const Plan& plan, const Access& access,
                          bool into_directory, const receipt::Tally& tally, ReceiptFile& file) {
    const session::SignRequest request = request_of(plan, tally);
    const auto reply = ask(connection, request);
    if (!reply) return reply.error();
    const auto account = account_of(plan.server, access);
    if (!account) return account.error();
    const auto known = statement_of(connection, *account, plan, into_directory, tally, request);
    if (auto checked = check(*reply, known); !checked) return checked;
    file.take(reply->lines[1] + "\n" + reply->lines[2] + "\n");
    return file.finish();
}

}  // namespace lambda::client
