#include "client/receipt/signing.h"

#include <filesystem>

#include "common/io/signature.h"
#include "common/receipt/lines.h"
#include "common/session/sign.h"

namespace lambda::client {
namespace {

Error wrong(std::string message) {
    return Error{.fault = Fault::integrity,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,
                 .remedy = "the files are as they were reported, but there is no receipt"};
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

// That the last lines are what was asked for, by the key that this session was made with.
Result<void> check(const session::Reply& reply, const session::SignRequest& request,
                   const Connection& connection) {
    if (reply.code == 550) return wrong("the server's account of the transfer differs from ours");
    if (reply.code != 213 || reply.lines.size() != 3)
        return wrong("the server did not sign: " + reply.text());
    const auto first = receipt::parse_line(reply.lines[1]);
    const auto second = receipt::parse_line(reply.lines[2]);
    const auto* statement = first ? std::get_if<receipt::Statement>(&*first) : nullptr;
    const auto* seal = second ? std::get_if<receipt::Seal>(&*second) : nullptr;
    if (statement == nullptr || seal == nullptr || statement->tally.lines != request.lines ||
        statement->tally.files != request.files || statement->server != request.server ||
        statement->destination != request.destination) {
        return wrong("the server signed something else than was asked for");
    }
    const io::Fingerprint key = io::fingerprint_of_key(seal->public_key);
    if (key != connection.peer_fingerprint() || key != statement->key ||
        !io::verifies({.bytes = seal->signature, .public_key = seal->public_key},
                      receipt::signed_text(reply.lines[1]))) {
        return wrong("the server's signature is not one by its key");
    }
    return {};
}

}  // namespace

Result<void> sign_receipt(Connection& connection, const Plan& plan, const receipt::Tally& tally,
                          ReceiptFile& file) {
    const session::SignRequest request = request_of(plan, tally);
    const auto reply = ask(connection, request);
    if (!reply) return reply.error();
    if (auto checked = check(*reply, request, connection); !checked) return checked;
    file.take(reply->lines[1] + "\n" + reply->lines[2] + "\n");
    return file.finish();
}

}  // namespace lambda::client
