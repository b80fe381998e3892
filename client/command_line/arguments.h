// The command line: what to do, with what, and how. Options may stand anywhere before `--`; the
// settings file gives the defaults.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/command_line/forms.h"
#include "client/command_line/range_options.h"
#include "client/remote/connection.h"
#include "client/trial/options.h"
#include "common/base/result.h"
#include "common/transfer/record.h"
#include "common/verify/hash.h"
#include "config/client_settings.h"

namespace lambda::client {

// copy: which of the two servers dials the other.
enum class Connect { either, source, destination };

struct Arguments {
    Action action = Action::help;
    Action help_of = Action::help;      // help: of this command; help itself: of all
    std::vector<std::string> words;     // all of them, as they were given
    std::vector<std::string> operands;  // raw bytes, as many as the action takes
    config::ClientSettings settings;
    std::string password_file;
    PasswordNames password_names{};
    bool may_ask = true;                                          // at the terminal
    std::shared_ptr<Logins> logins = std::make_shared<Logins>();  // of all sessions of the run
    std::string certificate, key;
    std::string rate_file;    // empty: none
    std::string left_over;    // empty: in the state directory
    std::string receipt;      // put, get, sync: where it is written; empty: none is wanted
    bool sha256 = false;      // put, get, sync: files are digested by SHA-256 too
    std::string at;           // audit: where the files are; empty: where the transfer left them
    std::string signer;       // audit: the key that must have signed; empty: as it is known
    bool any_signer = false;  // audit: also one of which nothing is known
    verify::Algorithm algorithm = verify::Algorithm::xxh3_128;  // checksum
    std::string source_password_file;  // copy: of the source; password_file is the destination's
    PasswordNames source_password_names = kSourcePassword;
    Connect connect = Connect::either;
    bool detach = false;                        // copy: it goes on without this client
    std::optional<std::uint64_t> wait, cancel;  // copies: the number of one
    std::string from_file;      // put, get, sync: further sources stand there; "-": standard input
    bool stdin_taken = false;   // by one of the lists
    transfer::WalkRecord walk;  // put, get, sync: what of trees is taken, and how
    transfer::SyncRecord plan;  // sync: what is to become of what stands there
    TrialOptions trial;
    RangeOptions range;        // put, get
    std::uint16_t beside = 1;  // transfers that this process has on the path, this one with them
    bool json = false;
    bool quiet = false;
    bool verbose = false;

    Access access() const {
        return {.ca = settings.ca,
                .trust_new_host = settings.trust_new_host,
                .password_file = password_file,
                .password_names = password_names,
                .logins = logins,
                .certificate = certificate,
                .key = key,
                .may_ask = may_ask};
    }
};

// `defaults` are what the settings file says. Every error is Fault::usage.
Result<Arguments> parse_arguments(std::span<const char* const> arguments,
                                  const config::ClientSettings& defaults);
// `base`, and over it what the words of the command line say of settings.
Result<config::ClientSettings> settings_over(const config::ClientSettings& base,
                                             const Arguments& arguments);
// Whether --json stands there, for who must report that the arguments are wrong.
bool wants_json(std::span<const char* const> arguments);

}  // namespace lambda::client
