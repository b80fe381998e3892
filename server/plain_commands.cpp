#include "server/plain_commands.h"

#include "common/base/ascii.h"
#include "common/verify/hash.h"

namespace lambda::server {
namespace {

using session::Reply;

Reply reply(int code, std::string text) {
    return Reply{.code = code, .lines = {std::move(text)}};
}

Reply options(const std::string& argument) {
    const std::string lower = lower_case(argument);
    if (lower == "utf8 on") return reply(200, "Names are raw bytes, UTF-8 or not");
    // All facts are always sent: RFC 3659 §7.9 lets a server choose.
    if (lower == "mlst" || lower.starts_with("mlst ")) {
        return reply(200, "MLST OPTS type;size;modify;unix.mode;perm;target;");
    }
    return reply(501, "OPTS knows UTF8 ON and MLST");
}

}  // namespace

std::optional<Reply> answer_plain_command(const session::Command& command) {
    const std::string& verb = command.verb;
    const std::string argument = lower_case(command.argument);
    if (verb == "NOOP") return reply(200, "Here");
    if (verb == "SYST") return reply(215, "UNIX Type: L8");
    if (verb == "OPTS") return options(command.argument);
    if (verb == "TYPE") {
        const bool known =
            argument == "i" || argument == "a" || argument == "a n" || argument == "l 8";
        return known ? reply(200, "Bytes are never changed") : reply(504, "TYPE takes I or A");
    }
    if (verb == "PBSZ") {
        return argument == "0" ? reply(200, "PBSZ=0") : reply(501, "PBSZ takes 0");
    }
    if (verb == "PROT") {
        return argument == "p" ? reply(200, "The session is private")
                               : reply(504, "PROT takes P; XFER agrees on a transfer's protection");
    }
    if (verb == "FEAT") {
        return Reply{
            .code = 211,
            .lines = {"Features", "AUTH TLS", "CKSM " + verify::algorithm_names(), "COPY", "GRANT",
                      "JOIN", "MDTM", "MLST type*;size*;modify*;unix.mode*;perm*;target*;", "PBSZ",
                      "PCT", "PROT", "RATE", "SIGN", "SIZE", "STAGE", "TVFS", "UTF8", "XFER 1",
                      "End"}};
    }
    if (verb == "HELP") {
        return Reply{
            .code = 214,
            .lines = {"Commands", "ABOR AUTH CDUP CKSM COPY CWD DELE FEAT GRANT HELP JOIN MDTM MKD",
                      "MLSD MLST NOOP OPTS PASS PBSZ PCT PROT PWD QUIT RATE RMD RNFR RNTO",
                      "SIGN SIZE STAGE STAT SYST TYPE USER XFER", "End"}};
    }
    return std::nullopt;
}

}  // namespace lambda::server
