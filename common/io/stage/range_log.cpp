#include "common/io/stage/range_log.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iterator>

namespace lambda::io {
namespace {

constexpr std::size_t kMostWords = 5;
constexpr std::size_t kSumDigits = 16;

std::string checksum(std::string_view text) {
    std::array<char, kSumDigits + 1> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
    return {digits.data(), kSumDigits};
}

std::string sealed(const std::string& text) {
    return text + " " + checksum(text) + "\n";
}

template <typename Number>
bool read(std::string_view word, Number& into, int base = 10) {
    const char* const last = word.data() + word.size();
    const auto [end, problem] = std::from_chars(word.data(), last, into, base);
    return !word.empty() && problem == std::errc() && end == last;
}

struct Words {
    std::array<std::string_view, kMostWords> at{};
    std::size_t count = 0;  // kMostWords + 1: there are more
};
Words words_of(std::string_view text) {
    Words words;
    while (words.count <= kMostWords) {
        const std::size_t blank = std::min(text.find(' '), text.size());
        if (words.count < kMostWords) words.at[words.count] = text.substr(0, blank);
        ++words.count;
        if (blank == text.size()) break;
        text.remove_prefix(blank + 1);
    }
    return words;
}

std::optional<RangeLog::Claim> claim_of(const Words& words) {
    RangeLog::Claim claim;
    if (!read(words.at[1], claim.bytes.first) || !read(words.at[2], claim.bytes.last) ||
        !read(words.at[3], claim.fence) || claim.bytes.empty() || claim.fence == 0) {
        return std::nullopt;
    }
    return claim;
}

std::string text_of(const char* word, const RangeLog::Claim& claim) {
    return std::string(word) + " " + std::to_string(claim.bytes.first) + " " +
           std::to_string(claim.bytes.last) + " " + std::to_string(claim.fence);
}

}  // namespace

RangeLog RangeLog::parse(std::string_view text) {
    RangeLog log;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) break;  // torn
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        const std::size_t blank = line.rfind(' ');
        if (blank == std::string_view::npos) continue;
        const std::string_view said = line.substr(0, blank);
        if (line.substr(blank + 1) == checksum(said)) log.take(said);
    }
    return log;
}

void RangeLog::take(std::string_view line) {
    const Words words = words_of(line);
    const std::string_view verb = words.at[0];
    if (verb == "file" && words.count == 4 && !source_) {
        FileVersion source;
        if (read(words.at[1], source.size) && read(words.at[2], source.mtime_ns) &&
            read(words.at[3], source.id) && source.size <= kMostFileBytes) {
            source_ = source;
        }
        return;
    }
    if (!source_) return;
    const std::optional<Claim> claim = claim_of(words);
    if (!claim || claim->bytes.last > source_->size) return;
    std::uint32_t mode = 0;
    if (verb == "claim" && words.count == 4) {
        take_claim(*claim);
    } else if (verb == "done" && words.count == 5 && read(words.at[4], mode, 8)) {
        take_done(*claim, mode & 07777);
    }
}

void RangeLog::cut(std::uint64_t at) {
    auto after = held_.lower_bound(at);
    if (after == held_.begin()) return;
    Held& before = std::prev(after)->second;
    if (before.last <= at) return;
    held_.emplace_hint(after, at, before);
    before.last = at;
}

// What may be written is no longer what it was.
void RangeLog::take_claim(const Claim& claim) {
    if (newest_fence(claim.bytes) >= claim.fence) return;
    cut(claim.bytes.first);
    cut(claim.bytes.last);
    held_.erase(held_.lower_bound(claim.bytes.first), held_.lower_bound(claim.bytes.last));
    held_.emplace(claim.bytes.first, Held{claim.bytes.last, claim.fence});
    done_.erase(claim.bytes);
}

// Only of who claimed it, all of it, and was followed by nobody.
void RangeLog::take_done(const Claim& claim, std::uint32_t mode) {
    const auto held = held_.find(claim.bytes.first);
    if (held == held_.end() || held->second.last != claim.bytes.last ||
        held->second.fence != claim.fence) {
        return;
    }
    done_.insert(claim.bytes);
    mode_ = mode;
}

std::uint64_t RangeLog::newest_fence(Range bytes) const {
    auto at = held_.upper_bound(bytes.first);
    if (at != held_.begin()) --at;
    std::uint64_t newest = 0;
    for (; at != held_.end() && at->first < bytes.last; ++at) {
        if (at->second.last > bytes.first) newest = std::max(newest, at->second.fence);
    }
    return newest;
}

std::string RangeLog::source_line(const FileVersion& source) {
    return sealed("file " + std::to_string(source.size) + " " + std::to_string(source.mtime_ns) +
                  " " + std::to_string(source.id));
}

std::string RangeLog::claim_line(const Claim& claim) {
    return sealed(text_of("claim", claim));
}

std::string RangeLog::done_line(const Claim& claim, std::uint32_t mode) {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%o", mode & 07777);
    return sealed(text_of("done", claim) + " " + digits.data());
}

}  // namespace lambda::io
