#include "common/session/range.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 3> kActions{"look", "finish", "discard"};
constexpr std::array kRangeFacts{"offset", "length", "whole", "modified",
                                 "inode",  "stage",  "fence"};

void add_version(Facts& facts, const FileVersion& version) {
    facts.add("whole", version.size)
        .add("modified", std::to_string(version.mtime_ns))
        .add("inode", version.id);
}

std::int64_t read_time(FactReader& reader) {
    const std::string text = reader.word("modified");
    std::int64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data(), last, value);
    if (problem != std::errc() || end != last)
        reader.refuse("modified", "nanoseconds since 1970, perhaps negative");
    return value;
}

FileVersion read_version(FactReader& reader) {
    FileVersion version;
    version.size = reader.number("whole", 1, kMostFileBytes);
    version.mtime_ns = read_time(reader);
    version.id = reader.number("inode", 0, UINT64_MAX);
    return version;
}

std::string read_stage_name(FactReader& reader) {
    std::string name = reader.word("stage");
    if (!is_stage_name(name)) reader.refuse("stage", "up to 64 letters, digits, '.', '_' and '-'");
    return name;
}

}  // namespace

void add_range(Facts& facts, const RangeOffer& offer) {
    const auto& [bytes, version] = offer.range;
    facts.add("offset", bytes.first);
    if (bytes.last != kToTheEnd) facts.add("length", bytes.length());
    if (version) add_version(facts, *version);
    if (!offer.stage.empty()) facts.add("stage", offer.stage);
    if (offer.fence > 0) facts.add("fence", offer.fence);
}

std::optional<RangeOffer> read_range(const Facts& facts, FactReader& reader, bool put) {
    // Without `offset` it is missing where any other is there: bytes of a stage are not the whole.
    const bool asked = std::any_of(kRangeFacts.begin(), kRangeFacts.end(),
                                   [&](const char* name) { return facts.find(name) != nullptr; });
    if (!asked) return std::nullopt;
    RangeOffer offer;
    Range& bytes = offer.range.bytes;
    bytes.first = reader.number("offset", 0, kMostFileBytes);
    if (put || facts.find("length") != nullptr)
        bytes.last = bytes.first + reader.number("length", 1, kMostFileBytes - bytes.first);
    if (put || facts.find("whole") != nullptr) offer.range.version = read_version(reader);
    if (put) {
        offer.stage = read_stage_name(reader);
        if (facts.find("fence") != nullptr) offer.fence = reader.number("fence", 1, UINT64_MAX);
        if (!fits_stage(bytes, offer.range.version->size))
            reader.refuse("length", "multiples of 1048576 within the file, or up to its end");
    } else if (offer.range.version && bytes.last != kToTheEnd &&
               bytes.last > offer.range.version->size) {
        reader.refuse("length", "what lies within the file");
    }
    return offer;
}

std::string format_stage(const StageRequest& request) {
    Facts facts;
    facts.add("do", kActions[static_cast<std::size_t>(request.action)])
        .add("stage", request.stage.name);
    add_version(facts, request.stage.source);
    return facts.text() + " " + request.path;
}

Result<StageRequest> parse_stage(std::string_view argument) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    StageRequest request;
    request.action = static_cast<StageRequest::Action>(reader.choice("do", kActions));
    request.stage.name = read_stage_name(reader);
    request.stage.source = read_version(reader);
    if (reader.error()) return *reader.error();
    request.path = parsed->rest.value_or("");
    if (request.path.empty()) return usage_error("STAGE needs the path of the file");
    return request;
}

std::string format_done(Range bytes) {
    return std::to_string(bytes.first) + "-" + std::to_string(bytes.last);
}

std::optional<Range> parse_done(std::string_view text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = parse_number(text.substr(0, dash));
    const auto last = parse_number(text.substr(std::min(dash + 1, text.size())));
    if (!first || !last || *first >= *last) return std::nullopt;
    return Range{*first, *last};
}

}  // namespace lambda::session
