#include "common/session/entry.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "common/base/ascii.h"
#include "common/session/fact_text.h"
#include "common/session/facts.h"
#include "common/session/timestamp.h"

namespace lambda::session {
namespace {

constexpr std::array<std::string_view, 4> kTypes{"file", "dir", "OS.unix=symlink",
                                                 "OS.unix=special"};

EntryType parse_type(std::string_view text) {
    const std::string lower = lower_case(text);
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        if (lower == lower_case(kTypes[i])) return static_cast<EntryType>(i);
    }
    if (lower == "cdir" || lower == "pdir") return EntryType::directory;
    return EntryType::special;
}

std::string format_mode(std::uint32_t mode) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode & 07777U);
    return text.data();
}

void read_mode(const Facts& facts, FactReader& reader, std::uint32_t& mode) {
    const std::string* text = facts.find("unix.mode");
    if (!text) return;
    const char* const last = text->data() + text->size();
    const auto [end, problem] = std::from_chars(text->data(), last, mode, 8);
    if (problem != std::errc() || end != last || mode > 07777U) {
        mode = 0;
        reader.refuse("unix.mode", "up to four octal digits");
    }
}

}  // namespace

std::string format_entry(const Entry& entry) {
    Facts facts;
    facts.add("type", kTypes[static_cast<std::size_t>(entry.type)]);
    if (entry.looked_at) {
        if (entry.type == EntryType::file) facts.add("size", entry.size);
        facts.add("modify", format_timestamp(entry.mtime_ns));
        facts.add("unix.mode", format_mode(entry.mode));
    }
    if (!entry.perm.empty()) facts.add("perm", entry.perm);
    if (!entry.target.empty()) facts.add("target", encode_value(entry.target));
    return text_with_name(std::move(facts), entry.name);
}

Result<Entry> parse_entry(std::string_view line) {
    Result<ParsedFacts> parsed = Facts::parse(line);
    if (!parsed) return parsed.error();
    if (!parsed->rest || parsed->rest->empty()) return usage_error("a listed entry has no name");
    FactReader reader(parsed->facts);
    Entry entry;
    entry.type = parse_type(reader.word("type"));
    if (entry.type == EntryType::file && parsed->facts.find("size")) {
        entry.size = reader.number("size", 0, UINT64_MAX);
    }
    if (const std::string* modify = parsed->facts.find("modify")) {
        const std::optional<std::int64_t> time = parse_timestamp(*modify);
        if (!time) reader.refuse("modify", "YYYYMMDDHHMMSS.nnnnnnnnn");
        entry.mtime_ns = time.value_or(0);
    }
    read_mode(parsed->facts, reader, entry.mode);
    entry.looked_at = parsed->facts.find("size") || parsed->facts.find("modify") ||
                      parsed->facts.find("unix.mode");
    if (const std::string* perm = parsed->facts.find("perm")) entry.perm = *perm;
    entry.target = read_text(parsed->facts, reader, "target");
    entry.name = read_name(*parsed, reader);
    if (reader.error()) return *reader.error();
    return entry;
}

}  // namespace lambda::session
