#include "common/session/command.h"

#include <algorithm>
#include <array>

#include "common/base/ascii.h"
#include "common/base/hex.h"
#include "common/session/facts.h"
#include "common/session/line.h"
#include "common/session/percent.h"
#include "common/session/terms.h"

namespace lambda::session {
namespace {

constexpr std::size_t kMaxVerb = 16;
constexpr std::uint64_t kMaxOffset = INT64_MAX;  // what an off_t holds

constexpr std::string_view kPercent = "PCT";
// Those whose argument is a path or ends in one; but CWD, since PWD could not show where it led.
constexpr std::array<std::string_view, 14> kTakePaths{"CKSM", "COPY", "DELE",  "GRANT", "MDTM",
                                                      "MKD",  "MLSD", "MLST",  "RMD",   "RNFR",
                                                      "RNTO", "SIZE", "STAGE", "XFER"};
// Those of them in which facts come before the path.
constexpr std::array<std::string_view, 4> kTakeFacts{"COPY", "GRANT", "STAGE", "XFER"};

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The word before the next blank, which is taken off with it.
std::string_view take_word(std::string_view& left) {
    const std::size_t blank = std::min(left.find(' '), left.size());
    const std::string_view word = left.substr(0, blank);
    left.remove_prefix(std::min(blank + 1, left.size()));
    return word;
}

bool takes_path(std::string_view verb) {
    return std::find(kTakePaths.begin(), kTakePaths.end(), verb) != kTakePaths.end();
}

// What of the argument a user may be shown: the path, and nothing that is beside it.
std::string path_in(const Command& command) {
    if (!takes_path(command.verb)) return {};
    if (command.verb == "CKSM") {
        const auto request = parse_checksum(command.argument);
        return request ? request->path : std::string();
    }
    if (std::find(kTakeFacts.begin(), kTakeFacts.end(), command.verb) == kTakeFacts.end())
        return command.argument;
    const auto parsed = Facts::parse(command.argument);
    return parsed && parsed->rest ? *parsed->rest : std::string();
}

// A verb and its argument, as they stand.
Result<Command> split(std::string_view line) {
    std::string_view argument = line;
    const std::string_view verb = take_word(argument);
    if (verb.empty() || verb.size() > kMaxVerb ||
        !std::all_of(verb.begin(), verb.end(), is_letter)) {
        return usage_error("this is not a command");
    }
    Command command{.verb = std::string(verb), .argument = std::string(argument)};
    for (char& c : command.verb) c = static_cast<char>(c & ~0x20);
    return command;
}

// What PCT carries.
Result<Command> parse_escaped(std::string_view line) {
    Result<Command> command = split(line);
    if (!command || !takes_path(command->verb))
        return usage_error("PCT takes a command whose argument has a path, and no CWD");
    auto argument = percent_decode(command->argument);
    if (!argument || argument->find('\0') != argument->npos)
        return usage_error("the percent-encoding of the argument is wrong, or holds a NUL");
    command->argument = *std::move(argument);
    return command;
}

}  // namespace

Result<Command> parse_command(std::string_view line) {
    Result<Command> command = split(line);
    return command && command->verb == kPercent ? parse_escaped(command->argument) : command;
}

Result<std::string> format_command(const Command& command) {
    const auto& [verb, argument] = command;
    std::string text = argument.empty() ? verb : verb + " " + argument;
    if (argument.find_first_of("\r\n") != argument.npos && takes_path(verb))
        text = std::string(kPercent) + " " + verb + " " + percent_encode_line(argument);
    if (fits_line(text)) return format_line(text);
    const bool long_one = text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
    Error error = usage_error(long_one ? "the name is too long for the control session"
                                       : "a line break or NUL is what the command cannot carry",
                              long_one ? "use a shorter path" : "leave it out");
    if (long_one) error.fault = Fault::file;  // another name may do
    error.path = path_in(command);
    return error;
}

std::string format_join(const JoinRequest& request) {
    return Facts()
        .add("token", request.token)
        .add("stripe", request.stripe)
        .add("epoch", request.epoch)
        .text();
}

Result<JoinRequest> parse_join(std::string_view argument) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    if (parsed->rest) return usage_error("JOIN takes facts alone");
    FactReader reader(parsed->facts);
    JoinRequest request;
    std::array<std::byte, 16> token{};
    reader.hex("token", token);
    request.token = to_hex(token);
    request.stripe = static_cast<std::uint16_t>(reader.number("stripe", 0, kMaxStripes - 1));
    request.epoch = static_cast<std::uint32_t>(reader.number("epoch", 1, UINT32_MAX));
    if (reader.error()) return *reader.error();
    return request;
}

std::string format_checksum(const ChecksumRequest& request) {
    return request.algorithm + " " + std::to_string(request.offset) + " " +
           (request.length ? std::to_string(*request.length) : "-1") + " " + request.path;
}

Result<ChecksumRequest> parse_checksum(std::string_view argument) {
    std::string_view left = argument;
    ChecksumRequest request;
    request.algorithm = lower_case(take_word(left));
    const std::optional<std::uint64_t> offset = parse_number(take_word(left));
    const std::string_view length_text = take_word(left);
    const std::optional<std::uint64_t> length = parse_number(length_text);
    const bool good = offset && *offset <= kMaxOffset &&
                      (length_text == "-1" || (length && *length <= kMaxOffset)) &&
                      !request.algorithm.empty() && !left.empty();
    if (!good) return usage_error("CKSM takes an algorithm, an offset, a length or -1, and a path");
    request.offset = *offset;
    request.length = length;
    request.path = std::string(left);
    return request;
}

}  // namespace lambda::session
