#include "common/session/copy.h"

#include <algorithm>
#include <array>

#include "common/session/fact_text.h"
#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"put", "get"};
constexpr std::array<std::string_view, 3> kOrders{"list", "wait", "cancel"};
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
        value != nullptr ? decode_value(*value).value_or(std::string()) : std::string();
    if (path.empty() || path.size() > kMaxPath) reader.refuse(name, "a path");
    return path;
}

Result<std::string> path_of(const ParsedFacts& parsed, const char* verb) {
    if (!parsed.rest || parsed.rest->empty()) {
        return usage_error(std::string(verb) + " needs a path behind its facts");
    }
    return *parsed.rest;
}

// A record of the set stream, raw; left out where it is empty.
void add_record(Facts& facts, std::string_view name, const std::string& bytes) {
    if (!bytes.empty()) facts.add(name, to_hex(std::as_bytes(std::span(bytes))));
}

std::string read_record(const Facts& facts, FactReader& reader, std::string_view name) {
    const std::string* const hex = facts.find(name);
    if (hex == nullptr) return {};
    std::string bytes(hex->size() / 2, '\0');
    reader.hex(name, std::as_writable_bytes(std::span(bytes)));
    return bytes;
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
    add_record(facts, "sync", request.sync);
    return facts.text() + " " + request.path;
}

Result<GrantRequest> parse_grant_request(std::string_view argument) {
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
    request.sync = read_record(parsed->facts, reader, "sync");
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
    return facts.text() + " " + request.path;
}

Result<CopyRequest> parse_copy_request(std::string_view argument) {
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
    if (request.host.size() > kMaxHost) reader.refuse("host", "a host's name");
    request.port = static_cast<std::uint16_t>(reader.number("port", 1, 65535));
    request.peer = read_fingerprint(reader);
    request.grant = read_token(reader, "grant");
    request.there = read_path(parsed->facts, reader, "there");
    request.contents = reader.flag("contents", false);
    request.several = reader.flag("several", false);
    request.detach = reader.flag("detach", false);
    request.walk = read_record(parsed->facts, reader, "walk");
    request.sync = read_record(parsed->facts, reader, "sync");
    if (reader.error()) return *reader.error();
    request.path = *std::move(path);
    return request;
}

std::string format_copy_order(const CopyOrder& order) {
    Facts facts;
    facts.add("do", kOrders[static_cast<std::size_t>(order.what)]);
    if (order.what != CopyOrder::What::list) facts.add("copy", order.copy);
    return facts.text();
}

Result<std::optional<CopyOrder>> parse_copy_order(std::string_view argument) {
    Result<ParsedFacts> parsed = Facts::parse(argument);
    if (!parsed) return parsed.error();
    if (parsed->facts.find("do") == nullptr) return std::optional<CopyOrder>();
    FactReader reader(parsed->facts);
    CopyOrder order;
    order.what = static_cast<CopyOrder::What>(reader.choice("do", kOrders));
    if (order.what != CopyOrder::What::list) order.copy = number(reader, "copy");
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
    return facts.text() + " " + status.path;
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
    if (reader.error()) return *reader.error();
    status.path = parsed->rest.value_or("");
    return status;
}

}  // namespace lambda::session
