#include "client/command_line/option_scope.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::client {
namespace {

constexpr std::string_view kAll;
constexpr std::string_view kPutGet = "put get";
constexpr std::string_view kTransfers = "put get sync";
constexpr std::string_view kTrees = "put get sync copy";
constexpr std::string_view kBetween = "copy sync";
constexpr std::string_view kMoves = "put get sync copy trial replicate";
constexpr std::string_view kLasting = "put get sync copy replicate";
constexpr std::string_view kServers =
    "put get copy copies sync trial ls stat mkdir rm rmdir mv checksum audit replicate ping";
constexpr std::string_view kAudit = "audit", kCopies = "copies", kSync = "sync", kTrial = "trial";

using enum OptionKind;

constexpr OptionScope kScopes[] = {
    {"--archive", own, kTrees},
    {"--links", own, kTrees},
    {"--exclude", own, kTrees},
    {"--include", own, kTrees},
    {"--exclude-from", own, kTrees},
    {"--include-from", own, kTrees},
    {"--checksum", own, kTrees},
    {"--from-file", own, kTransfers},
    {"--receipt", own, kTransfers},
    {"--digest", own, kTransfers},
    {"--rate-file", own, kTransfers},
    {"--range", own, kPutGet},
    {"--stage", own, kPutGet},
    {"--fence", own, kPutGet},
    {"--finish", own, kPutGet},
    {"--discard", own, kPutGet},
    {"--dry-run", own, kSync},
    {"--delete", own, kSync},
    {"--max-delete", own, kSync},
    {"--update", own, kSync},
    {"--existing", own, kSync},
    {"--ignore-existing", own, kSync},
    {"--connect", own, kBetween},
    {"--detach", own, kBetween},
    {"--source-password-file", own, "copy sync replicate"},
    {"--wait", own, kCopies},
    {"--cancel", own, kCopies},
    {"--algorithm", own, "checksum"},
    {"--at", own, kAudit},
    {"--signer", own, kAudit},
    {"--any-signer", own, kAudit},
    {"--size", own, kTrial},
    {"--legs", own, kTrial},
    {"--repetitions", own, kTrial},
    {"--directory", own, kTrial},
    {"--report", own, kTrial},
    {"--csv", own, kTrial},
    {"--compare", own, kTrial},
    {"--against", own, kTrial},
    {"--left-over", own, kLasting},
    {"--retry-for", own, kTrees},
    {"--password-file", connection, kServers},
    {"--trust-new-host", connection, kServers},
    {"--ca", connection, kServers},
    {"--certificate", connection, kServers},
    {"--key", connection, kServers},
    {"--stripes", setting, kMoves},
    {"--congestion", setting, kMoves},
    {"--background", setting, kMoves},
    {"--initial-rate", setting, kMoves},
    {"--rate-limit", setting, kMoves},
    {"--window", setting, kMoves},
    {"--syn", setting, kMoves},
    {"--verify", setting, kMoves},
    {"--payload", setting, kMoves},
    {"--block-size", setting, kMoves},
    {"--memory", setting, kMoves},
    {"--socket-buffer", setting, kMoves},
    {"--protection", setting, kMoves},
    {"--cipher", setting, kMoves},
    {"--no-uring", setting, kMoves},
    {"--json", general, kAll},
    {"--quiet", general, kAll},
    {"--verbose", general, kAll},
    {"--log-level", general, kAll},
    {"--help", general, kAll},
    {"--version", general, kAll},
};

// Takes the next word off.
std::string_view next_word(std::string_view& left) {
    const std::string_view word = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(word.size() + 1, left.size()));
    return word;
}

}  // namespace

bool OptionScope::takes(const Form& form) const {
    if (commands.empty()) return true;
    for (std::string_view left = commands; !left.empty();) {
        if (next_word(left) == form.name) return true;
    }
    return false;
}

std::span<const OptionScope> option_scopes() {
    return kScopes;
}

const OptionScope& scope_of(std::string_view option) {
    const auto scope = std::find_if(std::begin(kScopes), std::end(kScopes),
                                    [&](const OptionScope& s) { return s.option == option; });
    LAMBDA_ASSERT(scope != std::end(kScopes));
    return *scope;
}

std::string commands_of(const OptionScope& scope) {
    std::string text;
    for (std::string_view left = scope.commands; !left.empty();) {
        const std::string_view word = next_word(left);
        if (!text.empty()) text += left.empty() ? " and " : ", ";
        text += word;
    }
    return text;
}

}  // namespace lambda::client
