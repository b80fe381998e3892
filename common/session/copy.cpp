#include "common/session/copy.h"

#include <algorithm>
#include <array>

#include "common/session/facts.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 2> kDirections{"put", "get"};
constexpr std::array<std::string_view, 3> kOrders{"list", "wait", "cancel"};
constexpr std::array<std::string_view, 5> kStates{"dialling", "moving", "done", "failed", "cut"};
constexpr std::array<std::string_view, 7> kFaults{"usage", "file",     "session",    "integrity",
                                                  "cut",   "protocol", "unsupported"};
constexpr std::array<std::string_view, 3> kSides{"local", "remote", "network"};
constexpr std::size_t kTokenBytes = 16;
constexpr std::size_t kMaxFingerprint = 64;  // "SHA256:" and 43 characters today
constexpr std::size_t kMaxHost = 255;        // RFC 1035 §2.3.4
constexpr std::size_t kMaxPath = 4096;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-:,@+").find(c) != std::string_view::npos;
}

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

std::string read_text(const Facts& facts, FactReader& reader, std::string_view name) {
    const std::string* const value = facts.find(name);
    if (value == nullptr) return {};
    const auto text = decode_value(*value);
    if (!text) reader.refuse(name, "percent-encoded text");
    return text.value_or(std::string());
}

std::string read_path(const Facts& facts, FactReader& reader, std::string_view name) {
    reader.word(name);
    std::string path = read_text(facts, reader, name);
    if (path.empty() || path.size() > kMaxPath) reader.refuse(name, "a path");
    return path;
}

Result<std::string> path_of(const ParsedFacts& parsed, const char* verb) {
    if (!parsed.rest || parsed.rest->empty()) {
        return usage_error(std::string(verb) + " needs a path behind its facts");
    }
    return *parsed.rest;
}

std::uint64_t number(FactReader& reader, std::string_view name) {
    return reader.number(name, 0, UINT64_MAX);
}

Facts error_facts(const Error& error) {
    Facts facts;
    facts.add("fault", to_string(error.fault)).add("side", to_string(error.side));
    if (!error.path.empty()) facts.add("path", encode_value(error.path));
    if (!error.remedy.empty()) facts.add("remedy", encode_value(error.remedy));
    return facts;
}

std::string error_line(const char* kind, const Error& error) {
    return error_facts(error).add("error", kind).text() + " " + encode_value(error.message);
}

struct ErrorLine {
    bool cut = false;
    Error error;
};

Result<ErrorLine> parse_error_line(std::string_view text) {
    Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    ErrorLine line;
    line.cut = reader.word("error") == "cut";
    line.error.fault = static_cast<Fault>(reader.choice("fault", kFaults));
    line.error.side = static_cast<Side>(reader.choice("side", kSides));
    line.error.path = read_text(parsed->facts, reader, "path");
    line.error.remedy = read_text(parsed->facts, reader, "remedy");
    if (reader.error()) return *reader.error();
    line.error.message = decode_value(parsed->rest.value_or("")).value_or("unreadable reason");
    return line;
}

}  // namespace

std::string encode_value(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        if (plain(c)) {
            encoded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return encoded;
}

std::optional<std::string> decode_value(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_digit(text[i + 1]);
            const int low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (c == '\r' || c == '\n' || c == '\0') return std::nullopt;
        decoded += c;
    }
    return decoded;
}

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
    if (!request.walk.empty()) facts.add("walk", to_hex(std::as_bytes(std::span(request.walk))));
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
    if (const std::string* walk = parsed->facts.find("walk")) {
        request.walk.resize(walk->size() / 2);
        reader.hex("walk", std::as_writable_bytes(std::span(request.walk)));
    }
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

Reply format_copy_result(const CopyResult& result) {
    Facts facts;
    facts.add("files", result.files)
        .add("bytes", result.bytes)
        .add("failed", result.failed)
        .add("links", result.links)
        .add("directories", result.directories)
        .add("skipped", result.skipped)
        .add("unowned", result.unowned)
        .add("kept", result.bytes_kept)
        .add("verified", result.verified)
        .add("again", result.leaves_again)
        .add("sent", result.sent_packets)
        .add("lost", result.lost_packets)
        .add("repeated", result.retransmitted_packets)
        .add("refused", result.refused_packets)
        .add("time", result.transfer_us);
    const bool unreached =
        result.cut && result.cut->fault == Fault::session && result.cut->side == Side::network;
    Reply reply{.code = !result.cut ? 226 : unreached ? 425 : 426, .lines = {facts.text()}};
    if (result.cut) reply.lines.push_back(error_line("cut", *result.cut));
    std::size_t text = 0;
    for (const Error& failure : result.failures) {
        std::string line = error_line("file", failure);
        text += line.size();
        if (text > kMaxResultText || !fits_line(line)) break;
        reply.lines.push_back(std::move(line));
    }
    if (reply.lines.size() > 1) reply.lines.emplace_back("End");
    return reply;
}

Result<CopyResult> parse_copy_result(const Reply& reply) {
    Result<ParsedFacts> parsed = Facts::parse(reply.text());
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    CopyResult result;
    result.files = number(reader, "files");
    result.bytes = number(reader, "bytes");
    result.failed = number(reader, "failed");
    result.links = number(reader, "links");
    result.directories = number(reader, "directories");
    result.skipped = number(reader, "skipped");
    result.unowned = number(reader, "unowned");
    result.bytes_kept = number(reader, "kept");
    result.verified = number(reader, "verified");
    result.leaves_again = number(reader, "again");
    result.sent_packets = number(reader, "sent");
    result.lost_packets = number(reader, "lost");
    result.retransmitted_packets = number(reader, "repeated");
    result.refused_packets = number(reader, "refused");
    result.transfer_us = number(reader, "time");
    if (reader.error()) return *reader.error();
    for (std::size_t i = 1; i + 1 < reply.lines.size(); ++i) {
        auto line = parse_error_line(reply.lines[i]);
        if (!line) return line.error();
        if (line->cut) {
            result.cut = std::move(line->error);
        } else {
            result.failures.push_back(std::move(line->error));
        }
    }
    return result;
}

}  // namespace lambda::session
