#include "common/session/copy_result.h"

#include <array>

#include "common/session/fact_text.h"
#include "common/session/facts.h"
#include "common/session/percent.h"
#include "common/session/terms.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 7> kFaults{"usage", "file",     "session",    "integrity",
                                                  "cut",   "protocol", "unsupported"};
constexpr std::array<std::string_view, 3> kSides{"local", "remote", "network"};
constexpr int kWhole = 226, kUnreached = 425, kCut = 426;

std::uint64_t number(FactReader& reader, std::string_view name) {
    return reader.number(name, 0, UINT64_MAX);
}

Facts error_facts(const std::string& name, const Error& error) {
    Facts facts;
    facts.add("fault", to_string(error.fault)).add("side", to_string(error.side));
    if (!name.empty()) facts.add("name", encode_value(name));
    if (!error.path.empty()) facts.add("path", encode_value(error.path));
    if (!error.remedy.empty()) facts.add("remedy", encode_value(error.remedy));
    return facts;
}

// Four of these fit a line, if each of their bytes takes three.
constexpr std::size_t kShort = 300;
static_assert(4 * 3 * kShort + 200 < kMaxLine);

std::string shortened(const std::string& text) {
    constexpr std::size_t kEnd = kShort / 2 - 2;
    if (text.size() <= kShort) return text;
    return text.substr(0, kEnd) + "..." + text.substr(text.size() - kEnd);
}

// What a directory calls it stays whole.
std::string shortened_name(const std::string& name) {
    if (name.size() <= kShort) return name;
    return "..." + name.substr(name.size() - (kShort - 3));
}

std::string error_line(const char* kind, const std::string& name, const Error& error) {
    std::string line =
        error_facts(name, error).add("error", kind).text() + " " + encode_value(error.message);
    if (fits_line(line)) return line;
    return error_line(kind, shortened_name(name),
                      {.fault = error.fault,
                       .message = shortened(error.message),
                       .path = shortened(error.path),
                       .side = error.side,
                       .remedy = shortened(error.remedy)});
}

std::string text_behind(const ParsedFacts& parsed, const char* otherwise) {
    return percent_decode(parsed.rest.value_or("")).value_or(otherwise);
}

Result<void> parse_error_line(const ParsedFacts& parsed, CopyResult& result) {
    FactReader reader(parsed.facts);
    const bool cut = reader.word("error") == "cut";
    Error error{.fault = static_cast<Fault>(reader.choice("fault", kFaults)),
                .message = text_behind(parsed, "unreadable reason"),
                .path = read_text(parsed.facts, reader, "path"),
                .side = static_cast<Side>(reader.choice("side", kSides)),
                .remedy = read_text(parsed.facts, reader, "remedy")};
    std::string name = read_text(parsed.facts, reader, "name");
    if (reader.error()) return *reader.error();
    if (cut) {
        result.cut = std::move(error);
    } else {
        result.failures.push_back({.name = std::move(name), .error = std::move(error)});
    }
    return {};
}

std::string skip_line(const CopyResult::Skip& skip) {
    std::string line =
        Facts().add("skipped", encode_value(skip.name)).text() + " " + encode_value(skip.why);
    if (fits_line(line)) return line;
    return skip_line({.name = shortened(skip.name), .why = shortened(skip.why)});
}

std::string stripe_line(std::size_t index, const CopyResult::Stripe& stripe) {
    return Facts()
        .add("stripe", index)
        .add("bytes", stripe.bytes)
        .add("packets", stripe.packets)
        .add("lost", stripe.lost)
        .add("rtt", stripe.rtt_us)
        .text();
}

Result<void> parse_stripe_line(const ParsedFacts& parsed, CopyResult& result) {
    FactReader reader(parsed.facts);
    const CopyResult::Stripe stripe{.bytes = number(reader, "bytes"),
                                    .packets = number(reader, "packets"),
                                    .lost = number(reader, "lost"),
                                    .rtt_us = number(reader, "rtt")};
    const bool next = reader.number("stripe", 0, kMaxStripes - 1) == result.stripes.size();
    if (!next) reader.refuse("stripe", "the next one's number");
    if (reader.error()) return *reader.error();
    result.stripes.push_back(stripe);
    return {};
}

std::string figures_text(const verdict::Figures& figures) {
    std::string text;
    for (const std::uint64_t value : figures.values()) {
        if (!text.empty()) text += ',';
        text += std::to_string(value);
    }
    return text;
}

// Those of a later version come behind, and are left out.
verdict::Figures read_figures(FactReader& reader, std::string_view name) {
    const std::string text = reader.word(name);
    std::string_view left = text;
    verdict::Figures figures;
    for (std::uint64_t& value : figures.values()) {
        const std::size_t comma = left.find(',');
        const auto parsed = parse_number(left.substr(0, comma));
        if (!parsed) reader.refuse(name, "numbers with commas between them");
        value = parsed.value_or(0);
        if (comma == left.npos) break;
        left.remove_prefix(comma + 1);
    }
    return figures;
}

std::string evidence_line(const verdict::Evidence& evidence) {
    return Facts()
        .add("law", evidence.law)
        .add("fixed", evidence.law_is_fixed ? 1 : 0)
        .add("yields", evidence.law_yields_to_loss ? 1 : 0)
        .add("limit", static_cast<std::uint64_t>(evidence.rate_limit.bits_per_second))
        .add("window", evidence.window)
        .add("memory", evidence.memory)
        .add("sender", figures_text(evidence.sender))
        .add("receiver", figures_text(evidence.receiver))
        .text();
}

Result<void> parse_evidence_line(const ParsedFacts& parsed, CopyResult& result) {
    FactReader reader(parsed.facts);
    verdict::Evidence& evidence = result.evidence;
    evidence.law = reader.word("law");
    if (!is_law(evidence.law)) reader.refuse("law", "a law's name");
    evidence.law_is_fixed = reader.flag("fixed", false);
    evidence.law_yields_to_loss = reader.flag("yields", false);
    evidence.rate_limit = BitRate{static_cast<double>(reader.number("limit", 0, kMaxRate))};
    evidence.window = number(reader, "window");
    evidence.memory = number(reader, "memory");
    evidence.sender = read_figures(reader, "sender");
    evidence.receiver = read_figures(reader, "receiver");
    if (reader.error()) return *reader.error();
    return {};
}

// By the fact that tells what it is of; others are of a later version.
Result<void> parse_result_line(std::string_view text, CopyResult& result) {
    const Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    const Facts& facts = parsed->facts;
    if (facts.find("error") != nullptr) return parse_error_line(*parsed, result);
    if (facts.find("stripe") != nullptr) return parse_stripe_line(*parsed, result);
    if (facts.find("law") != nullptr) return parse_evidence_line(*parsed, result);
    if (const std::string* const name = facts.find("skipped")) {
        result.skips.push_back({.name = percent_decode(*name).value_or("an unreadable name"),
                                .why = text_behind(*parsed, "unreadable reason")});
    }
    return {};
}

// The lines of as many failures, and then skips, as fit into kMaxResultText. How many of each.
template <typename Put>
std::pair<std::size_t, std::size_t> for_each_told(const CopyResult& result, const Put& put) {
    std::size_t text = 0;
    const auto all_of = [&](const auto& items, const auto& line_of) {
        std::size_t told = 0;
        for (; told < items.size(); ++told) {
            std::string line = line_of(items[told]);
            text += line.size();
            if (text > kMaxResultText) break;
            put(std::move(line));
        }
        return told;
    };
    const std::size_t failures = all_of(result.failures, [](const CopyResult::Failure& failure) {
        return error_line("file", failure.name, failure.error);
    });
    return {failures, all_of(result.skips, skip_line)};
}

}  // namespace

std::optional<std::string> format_copy_change(const CopyChange& change) {
    Facts facts;
    facts.add("change", change.word).add("path", encode_value(change.path));
    if (change.directory) facts.add("directory", 1);
    if (change.size > 0) facts.add("size", change.size);
    std::string text = facts.text();
    if (!fits_line(text)) return std::nullopt;
    return text;
}

Result<CopyChange> parse_copy_change(std::string_view text) {
    Result<ParsedFacts> parsed = Facts::parse(text);
    if (!parsed) return parsed.error();
    FactReader reader(parsed->facts);
    CopyChange change{.word = reader.word("change"),
                      .path = read_text(parsed->facts, reader, "path"),
                      .directory = reader.flag("directory", false)};
    if (parsed->facts.find("size") != nullptr) change.size = reader.number("size", 0, UINT64_MAX);
    if (reader.error()) return *reader.error();
    return change;
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
        .add("written", result.leaves_changed)
        .add("sent", result.sent_packets)
        .add("lost", result.lost_packets)
        .add("repeated", result.retransmitted_packets)
        .add("refused", result.refused_packets)
        .add("time", result.transfer_us)
        .add("adopted", result.adopted)
        .add("adoptedbytes", result.adopted_bytes)
        .add("mended", result.mended)
        .add("deleted", result.deleted)
        .add("unsaid", result.unsaid);
    if (result.cuts > 0) facts.add("cuts", result.cuts);
    if (result.cancelled) facts.add("cancelled", 1);
    const int cut = result.unreached ? kUnreached : kCut;
    Reply reply{.code = result.cut ? cut : kWhole, .lines = {facts.text()}};
    if (result.cut) reply.lines.push_back(error_line("cut", {}, *result.cut));
    for (std::size_t i = 0; i < result.stripes.size(); ++i) {
        reply.lines.push_back(stripe_line(i, result.stripes[i]));
    }
    if (!result.evidence.law.empty()) reply.lines.push_back(evidence_line(result.evidence));
    for_each_told(result, [&](std::string line) { reply.lines.push_back(std::move(line)); });
    if (reply.lines.size() > 1) reply.lines.emplace_back("End");
    return reply;
}

void forget_untold(CopyResult& result) {
    const auto [failures, skips] = for_each_told(result, [](const std::string&) {});
    result.failures.resize(failures);
    result.skips.resize(skips);
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
    if (parsed->facts.find("written") != nullptr) result.leaves_changed = number(reader, "written");
    result.sent_packets = number(reader, "sent");
    result.lost_packets = number(reader, "lost");
    result.retransmitted_packets = number(reader, "repeated");
    result.refused_packets = number(reader, "refused");
    result.transfer_us = number(reader, "time");
    result.adopted = number(reader, "adopted");
    result.adopted_bytes = number(reader, "adoptedbytes");
    result.mended = number(reader, "mended");
    result.deleted = number(reader, "deleted");
    result.unsaid = number(reader, "unsaid");
    if (parsed->facts.find("cuts") != nullptr) result.cuts = number(reader, "cuts");
    result.cancelled = reader.flag("cancelled", false);
    if (reader.error()) return *reader.error();
    for (std::size_t i = 1; i + 1 < reply.lines.size(); ++i) {
        if (auto parsed_line = parse_result_line(reply.lines[i], result); !parsed_line) {
            return parsed_line.error();
        }
    }
    if (result.cut.has_value() == (reply.code == kWhole))
        return usage_error("the reply " + std::to_string(reply.code) + " contradicts its lines");
    result.unreached = reply.code == kUnreached;
    return result;
}

}  // namespace lambda::session
