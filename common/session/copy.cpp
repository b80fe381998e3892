#include "common/session/copy.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "common/base/hex.h"
#include "common/session/fact_text.h"
#include "common/session/facts.h"
#include "common/session/percent.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"put", "get"};
constexpr std::array<std::string_view, 4> kOrders{"list", "wait", "cancel", "ahead"};
constexpr std::array<std::string_view, 5> kStates{"dialling", "moving", "done", "failed", "cut"};
constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kMaxFingerprint = 64;  // "SHA256:" and 43 characters today
constexpr std::size_t kMaxHost = 255;        // RFC 1035 §2.3.4
constexpr std::size_t kMaxPath = 4096;

std::string read_token(FactReader& reader, std::string_view name) {
    std::array<std::byte, kTokenBytes> token{};
    reader.hex(name, token);
    return to_hex(token);
}

std::string read_fingerprint(FactReader& reader) {
    std::string text = reader.word("peer");
    const bool good = text.starts_with("SHA256:") && text.size() <= kMaxFingerprint;
    if (!good) reader.refuse("peer", "the fingerprint of a key, SHA256:...");
    return text;
}

std::string read_path(const Facts& facts, FactReader& reader, std::string_view name) {
    reader.word(name);
    const std::string* const value = facts.find(name);
    std::string path =
        value != nullptr ? percent_decode(*value).value_or(std::string()) : std::string();
    const bool good = !path.empty() && path.size() <= kMaxPath && path.find('\0') == path.npos;
    if (!good) reader.refuse(name, "a path");
    return path;
}

Result<std::string> path_of(const ParsedFacts& parsed, const char* verb) {
    if (!parsed.rest || parsed.rest->empty()) {
        return usage_error(std::string(verb) + " needs a path behind its facts");
    }
    return *parsed.rest;
}

constexpr std::string_view kAhead = "ahead";
// Records of up to so many bytes stand in the line itself, in hex; so do two beside all other
// facts.
constexpr std::size_t kMaxInLine = 200;
constexpr std::size_t kPartBytes = 1500;

// A record of the set stream, raw; left out where it is empty.
void add_record(Facts& facts, std::string_view name, const std::string& bytes) {
    if (bytes.size() > kMaxInLine) {
        facts.add(name, kAhead);
    } else if (!bytes.empty()) {
        facts.add(name, to_hex(std::as_bytes(std::span(bytes))));
    }
}

// Gives what went ahead to the one fact that asks for it.
class AheadReader {
  public:
    AheadReader(const Facts& facts, FactReader& reader, std::string_view ahead)
        : facts_(facts), reader_(reader), ahead_(ahead) {}

    std::string record(std::string_view name) {
        const std::string* const value = facts_.find(name);
        if (value == nullptr) return {};
        if (*value == kAhead) return take(name);
        std::string bytes(value->size() / 2, '\0');
        reader_.hex(name, std::as_writable_bytes(std::span(bytes)));
        return bytes;
    }

    // Each ended by a NUL.
    std::vector<std::string> names() {
        std::vector<std::string> names;
        const std::string* const value = facts_.find("names");
        if (value == nullptr) return names;
        if (*value != kAhead) reader_.refuse("names", kAhead);
        const std::string all = take("names");
        for (std::string_view left = all; !left.empty();) {
            const std::size_t end = left.find('\0');
            const std::string_view name = left.substr(0, end);
            const bool good = end != left.npos && is_name(name) && names.size() < kMaxNames;
            if (!good) {
                reader_.refuse("names", "up to 1000 names of a directory's entries");
                break;
            }
            names.emplace_back(name);
            left.remove_prefix(end + 1);
        }
        return names;
    }

  private:
    static bool is_name(std::string_view name) {
        return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
               name.find('/') == name.npos;
    }

    std::string take(std::string_view name) {
        if (ahead_.empty())
            reader_.refuse(name, "what was sent by COPY do=ahead before, for it alone");
        return std::string(std::exchange(ahead_, {}));
    }

    const Facts& facts_;
    FactReader& reader_;
    std::string_view ahead_;
};

void add_names(Facts& facts, const std::vector<std::string>& names) {
    if (!names.empty()) facts.add("names", kAhead);
}

constexpr std::uint64_t kMaxFound = 4096;  // bytes of a path
std::optional<std::uint16_t> read_found(const Facts& facts, FactReader& reader) {
    if (facts.find("found") == nullptr) return std::nullopt;
    return static_cast<std::uint16_t>(reader.number("found", 0, kMaxFound));
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += name + '\0';
    return all;
}

// As RateTimetable::parse() takes it.
std::string timetable_text(const RateTimetable& hours) {
    std::string text;
    for (const RateTimetable::Stretch& stretch : hours.stretches()) {
        char times[64];
        std::snprintf(times, sizeof times, "%02d:%02d-%02d:%02d ", stretch.first / 60,
                      stretch.first % 60, stretch.last / 60, stretch.last % 60);
        const auto bits = static_cast<std::uint64_t>(stretch.limit.bits_per_second);
        text += (text.empty() ? "" : ",") + std::string(times) +
                (bits > 0 ? std::to_string(bits) + "bit/s" : "max");
    }
    return text;
}

RateTimetable read_timetable(const Facts& facts, FactReader& reader, std::string_view name) {
    if (facts.find(name) == nullptr) return {};
    const auto hours = RateTimetable::parse(read_text(facts, reader, name));
    const bool good = hours && std::all_of(hours->stretches().begin(), hours->stretches().end(),
                                           [](const auto& s) {
                                               const double bits = s.limit.bits_per_second;
                                               return bits == 0 || (bits >= 1 && bits <= kMaxRate);
                                           });
    if (!good) reader.refuse(name, "a timetable of rates");
    return good ? *hours : RateTimetable();
}

void add_again(Facts& facts, Duration again) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(again).count();
    if (whole > 0) facts.add("again", static_cast<std::uint64_t>(whole));
}

Duration read_again(const Facts& facts, FactReader& reader) {
    if (facts.find("again") == nullptr) return Duration{0};
    constexpr auto kMost = std::chrono::duration_cast<std::chrono::seconds>(kLongestAgain).count();
    return std::chrono::seconds(reader.number("again", 1, static_cast<std::uint64_t>(kMost)));
}

std::string longer(const std::string& record) {
    return record.size() > kMaxInLine ? record : std::string();
}

std::uint64_t number(FactReader& reader, std::string_view name) {
    return reader.number(name, 0, UINT64_MAX);
}

}  // namespace

std::string format_grant_request(const GrantRequest& request) {
    Facts facts;
    facts.add("direction", to_string(request.direction))
        .add("peer", request.peer)
        .add("life", static_cast<std::uint64_t>(
                         std::chrono::duration_cast<std::chrono::seconds>(request.life).count()));
    if (request.size) facts.add("size", *request.size);
    if (request.contents) facts.add("contents", 1);
    if (request.several) facts.add("several", 1);
    if (request.follow) facts.add("follow", 1);
    if (request.archive) facts.add("archive", 1);
    add_record(facts, "sync", request.sync);
    add_names(facts, request.names);
    if (request.found) facts.add("found", *request.found);
    add_again(facts, request.again);
    return facts.text() + " " + request.path;
}

std::string ahead_of(const GrantRequest& request) {
    return request.names.empty() ? longer(request.sync) : joined(request.names);
}

std::string ahead_of(const CopyRequest& request) {
    LAMBDA_ASSERT(request.names.empty() || longer(request.walk).empty());
    LAMBDA_ASSERT(longer(request.sync).empty());
    return request.names.empty() ? longer(request.walk) : joined(request.names);
}

std::vector<std::string> format_ahead(std::string_view bytes) {
    std::vector<std::string> arguments;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPartBytes))) {
        const std::string part(bytes.substr(0, kPartBytes));
        arguments.push_back(format_copy_order({.what = CopyOrder::What::ahead, .part = part}));
    }
    return arguments;
}

std::uint16_t found_bytes(std::optional<std::uint16_t> found, const std::string& name) {
    if (!found) return 0;
    return static_cast<std::uint16_t>(name.size() + (*found > 0 ? *found + 1 : 0));
}

std::string path_in(const std::string& directory, const std::string& name) {
    return directory.ends_with('/') || directory.empty() ? directory + name
                                                         : directory + "/" + name;
}

Result<GrantRequest> parse_grant_request(std::string_view argument, std::string_view ahead) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    GrantRequest request;
    request.direction = static_cast<Direction>(reader.choice("direction", kDirections));
    request.peer = read_fingerprint(reader);
    constexpr auto kMostSeconds = std::chrono::duration_cast<std::chrono::seconds>(kLongestGrant);
    request.life = std::chrono::seconds(
        reader.number("life", 1, static_cast<std::uint64_t>(kMostSeconds.count())));
    if (parsed->facts.find("size") != nullptr) request.size = number(reader, "size");
    request.contents = reader.flag("contents", false);
    request.several = reader.flag("several", false);
    request.follow = reader.flag("follow", false);
    request.archive = reader.flag("archive", false);
    AheadReader records(parsed->facts, reader, ahead);
    request.sync = records.record("sync");
    request.names = records.names();
    request.found = read_found(parsed->facts, reader);
    request.again = read_again(parsed->facts, reader);
    if (reader.error()) return *reader.error();
    auto path = path_of(*parsed, "GRANT");
    if (!path) return path.error();
    request.path = *std::move(path);
    return request;
}

std::string format_grant(const std::string& token) {
    return Facts().add("grant", token).text();
}

Result<std::string> parse_grant(std::string_view text) {
    Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    std::string token = read_token(reader, "grant");
    if (reader.error()) return *reader.error();
    return token;
}

std::string format_copy_request(const CopyRequest& request) {
    Facts facts;
    add_terms(facts, request.terms);
    facts.add("host", encode_value(request.host))
        .add("port", request.port)
        .add("peer", request.peer)
        .add("grant", request.grant)
        .add("there", encode_value(request.there));
    if (request.contents) facts.add("contents", 1);
    if (request.several) facts.add("several", 1);
    if (request.detach) facts.add("detach", 1);
    add_record(facts, "walk", request.walk);
    add_record(facts, "sync", request.sync);
    add_names(facts, request.names);
    if (request.found) facts.add("found", *request.found);
    add_again(facts, request.again);
    if (!request.hours.stretches().empty()) {
        facts.add("hours", encode_value(timetable_text(request.hours)));
    }
    return facts.text() + " " + request.path;
}

Result<CopyRequest> parse_copy_request(std::string_view argument, std::string_view ahead) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    auto path = path_of(*parsed, "COPY");
    if (!path) return path.error();
    auto terms = parse_terms(parsed->facts);
    if (!terms) return terms.error();
    FactReader reader(parsed->facts);
    CopyRequest request;
    request.terms = *std::move(terms);
    request.host = read_path(parsed->facts, reader, "host");
    if (request.host.size() > kMaxHost || request.host.find_first_of("\r\n") != std::string::npos)
        reader.refuse("host", "a host's name");
    request.port = static_cast<std::uint16_t>(reader.number("port", 1, 65535));
    request.peer = read_fingerprint(reader);
    request.grant = read_token(reader, "grant");
    request.there = read_path(parsed->facts, reader, "there");
    request.contents = reader.flag("contents", false);
    request.several = reader.flag("several", false);
    request.detach = reader.flag("detach", false);
    request.again = read_again(parsed->facts, reader);
    request.hours = read_timetable(parsed->facts, reader, "hours");
    AheadReader records(parsed->facts, reader, ahead);
    request.walk = records.record("walk");
    request.sync = records.record("sync");
    request.names = records.names();
    request.found = read_found(parsed->facts, reader);
    if (reader.error()) return *reader.error();
    request.path = *std::move(path);
    return request;
}

std::string format_copy_order(const CopyOrder& order) {
    Facts facts;
    facts.add("do", kOrders[static_cast<std::size_t>(order.what)]);
    if (order.what == CopyOrder::What::ahead) {
        facts.add("part", to_hex(std::as_bytes(std::span(order.part))));
    } else if (order.what != CopyOrder::What::list) {
        facts.add("copy", order.copy);
        if (!order.grant.empty()) facts.add("grant", order.grant);
    }
    return facts.text();
}

Result<std::optional<CopyOrder>> parse_copy_order(std::string_view argument) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    if (parsed->facts.find("do") == nullptr) return std::optional<CopyOrder>();
    FactReader reader(parsed->facts);
    CopyOrder order;
    order.what = static_cast<CopyOrder::What>(reader.choice("do", kOrders));
    if (order.what == CopyOrder::What::ahead) {
        const std::string hex = reader.word("part");
        order.part.resize(hex.size() / 2);
        reader.hex("part", std::as_writable_bytes(std::span(order.part)));
    } else if (order.what != CopyOrder::What::list) {
        order.copy = number(reader, "copy");
        if (parsed->facts.find("grant")) order.grant = read_token(reader, "grant");
    }
    if (reader.error()) return *reader.error();
    return std::optional(order);
}

const char* to_string(CopyState state) {
    return kStates[static_cast<std::size_t>(state)].data();
}

std::string format_copy_status(const CopyStatus& status) {
    Facts facts;
    facts.add("copy", status.copy)
        .add("state", to_string(status.state))
        .add("direction", to_string(status.direction))
        .add("peer", encode_value(status.peer))
        .add("there", encode_value(status.there))
        .add("started", status.started)
        .add("bytes", status.bytes)
        .add("total", status.total_bytes)
        .add("files", status.files)
        .add("known", status.files_known)
        .add("sent", status.sent_packets)
        .add("lost", status.lost_packets)
        .add("rtt", status.rtt_us)
        .add("rate", status.rate);
    if (!status.standstill.empty()) facts.add("standstill", encode_value(status.standstill));
    return text_with_name(std::move(facts), status.path);
}

Result<CopyStatus> parse_copy_status(std::string_view text) {
    Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    CopyStatus status;
    status.copy = number(reader, "copy");
    status.state = static_cast<CopyState>(reader.choice("state", kStates));
    status.direction = static_cast<Direction>(reader.choice("direction", kDirections));
    status.peer = read_path(parsed->facts, reader, "peer");
    status.there = read_path(parsed->facts, reader, "there");
    status.started = number(reader, "started");
    status.bytes = number(reader, "bytes");
    status.total_bytes = number(reader, "total");
    status.files = number(reader, "files");
    status.files_known = number(reader, "known");
    status.sent_packets = number(reader, "sent");
    status.lost_packets = number(reader, "lost");
    status.rtt_us = number(reader, "rtt");
    status.rate = number(reader, "rate");
    status.standstill = read_text(parsed->facts, reader, "standstill");
    status.path = read_name(*parsed, reader);
    if (reader.error()) return *reader.error();
    return status;
}

}  // namespace lambda::session
