#include "server/sign.h"

#include <chrono>

#include "common/io/log.h"
#include "common/io/tls/signature.h"
#include "common/receipt/lines.h"

namespace lambda::server {
namespace {

using session::Reply;

// A line of the control session has 4,096 bytes with its end.
constexpr std::size_t kMostStatementBytes = 4000;

receipt::Statement statement_of(const session::SignRequest& request, const Signable& transfer) {
    using namespace std::chrono;
    receipt::Statement statement;
    const bool get = transfer.direction == session::Direction::get;
    statement.direction = transfer.direction;
    statement.server = request.server;
    statement.account = transfer.account;
    (get ? statement.destination : statement.place) = get ? request.destination : transfer.place;
    statement.into_directory = get ? request.into_directory : transfer.into_directory;
    statement.transfer = transfer.transfer;
    statement.tally = transfer.tally;
    statement.time_ns = nanoseconds(system_clock::now().time_since_epoch()).count();
    return statement;
}

}  // namespace

Reply sign(const session::SignRequest& request, const Signable& transfer,
           const io::TlsContext& tls) {
    const receipt::Tally& tally = transfer.tally;
    if (request.files != tally.files || request.lines != tally.lines) {
        io::log_warning("transfer " + std::to_string(transfer.transfer) +
                        ": the client's account of it differs from ours, and is not signed");
        return {.code = 550, .lines = {"The account here is another"}};
    }
    receipt::Statement statement = statement_of(request, transfer);
    statement.key = io::fingerprint_of_key(io::public_key_of(tls));
    const std::string line = to_line(statement);
    if (line.size() > kMostStatementBytes)
        return {.code = 501, .lines = {"The names of the places are too long for a receipt"}};
    auto signature = io::sign(tls, receipt::signed_text(line));
    if (!signature) return {.code = 504, .lines = {signature.error().sentence()}};
    const receipt::Seal seal{.signature = std::move(signature->bytes),
                             .public_key = std::move(signature->public_key)};
    return {.code = 213, .lines = {"Signed", line, to_line(seal)}};
}

}  // namespace lambda::server
