#include "common/session/sign.h"

#include <string_view>

#include "common/base/hex.h"
#include "common/session/fact_text.h"
#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 2> kInto{"file", "directory"};

}  // namespace

std::string format_sign(const SignRequest& request) {
    Facts facts;
    facts.add("files", request.files)
        .add("lines", to_hex(request.lines))
        .add("server", encode_value(request.server));
    if (!request.destination.empty()) {
        facts.add("destination", encode_value(request.destination))
            .add("into", kInto[request.into_directory ? 1 : 0]);
    }
    return facts.text();
}

Result<SignRequest> parse_sign(std::string_view argument) {
    const Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    SignRequest request;
    request.files = reader.number("files", 0, UINT64_MAX);
    reader.hex("lines", request.lines);
    reader.word("server");
    request.server = read_text(parsed->facts, reader, "server");
    request.destination = read_text(parsed->facts, reader, "destination");
    request.into_directory = reader.choice_or("into", kInto, 0) == 1;
    if (reader.error()) return *reader.error();
    return request;
}

}  // namespace lambda::session
