#include "client/report/entry_lines.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "client/report/text.h"
#include "common/session/timestamp.h"

namespace lambda::client {
namespace {

const char* type_name(session::EntryType type) {
    switch (type) {
        case session::EntryType::file:
            return "file";
        case session::EntryType::directory:
            return "directory";
        case session::EntryType::link:
            return "link";
        case session::EntryType::special:
            return "special";
    }
    LAMBDA_ASSERT(false);
}

char type_letter(session::EntryType type) {
    switch (type) {
        case session::EntryType::file:
            return '-';
        case session::EntryType::directory:
            return 'd';
        case session::EntryType::link:
            return 'l';
        case session::EntryType::special:
            return '?';  // as ls has what it doesn't know: the server does not say which kind
    }
    LAMBDA_ASSERT(false);
}

std::string mode_letters(const session::Entry& entry) {
    std::string letters(1, type_letter(entry.type));
    for (int shift = 8; shift >= 0; --shift) {
        const bool set = (entry.mode >> shift & 1u) != 0;
        letters += set ? "xwr"[shift % 3] : '-';
    }
    // Bits 11, 10 and 9 show where who may execute stands, as ls(1) has it.
    for (std::size_t i = 0; i < 3; ++i) {
        if ((entry.mode >> (11 - i) & 1u) == 0) continue;
        char& executes = letters[3 + 3 * i];
        executes = (executes == 'x' ? "sst" : "SST")[i];
    }
    return letters;
}

std::string date(std::int64_t time_ns) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    // The second that it is in, before 1970 too.
    const auto time = static_cast<std::time_t>(time_ns / kSecond - (time_ns % kSecond < 0 ? 1 : 0));
    std::tm local{};
    ::localtime_r(&time, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    return text;
}

}  // namespace

void show_entry(const session::Entry& entry, const std::string& shown, Report& report) {
    JsonObject object;
    object.text("event", "entry").text("name", shown).text("type", type_name(entry.type));
    // As ls has what it cannot look at.
    std::string line(1, type_letter(entry.type));
    line += "?????????             ?                    ?  ";
    if (entry.looked_at) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "%14llu  ",
                      static_cast<unsigned long long>(entry.size));
        char mode[8];
        std::snprintf(mode, sizeof mode, "%04o", entry.mode);
        object.number("size", entry.size)
            .text("mtime", session::format_rfc3339(entry.mtime_ns))
            .text("mode", mode);
        line = mode_letters(entry) + numbers + date(entry.mtime_ns) + "  ";
    }
    object.text("perm", entry.perm);
    line += printable(shown);
    if (!entry.target.empty()) {
        object.text("target", entry.target);
        line += " -> " + printable(entry.target);
    }
    report.data(object, line);
}

void EntriesByName::take(session::Entry entry) {
    if (!full_ && (entries_.size() == most_ || name_bytes_ >= kMostNameBytes)) {
        kept_ = entries_.size();
        end();
        full_ = true;
    }
    if (full_) return show_(entry);
    name_bytes_ += entry.name.size();
    entries_.push_back(std::move(entry));
}

void EntriesByName::end() {
    std::sort(entries_.begin(), entries_.end(),
              [](const session::Entry& a, const session::Entry& b) { return a.name < b.name; });
    for (const session::Entry& entry : entries_) show_(entry);
    entries_.clear();
    name_bytes_ = 0;
}

}  // namespace lambda::client
