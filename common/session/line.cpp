#include "common/session/line.h"

#include <algorithm>

#include "common/base/assert.h"

namespace lambda::session {
namespace {

constexpr char kIac = '\xff';  // RFC 854

// Without the LF, and without the CR before it.
Line decode(std::string_view raw) {
    Line line;
    if (raw.empty() || raw.back() != '\r') return {.text = {}, .fault = LineFault::bare_lf};
    raw.remove_suffix(1);
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const char c = raw[i];
        if (c == '\0') return {.text = {}, .fault = LineFault::nul};
        if (c == '\r') return {.text = {}, .fault = LineFault::stray_cr};
        if (c == kIac && (++i == raw.size() || raw[i] != kIac)) {
            return {.text = {}, .fault = LineFault::lone_iac};
        }
        line.text += c;
    }
    return line;
}

}  // namespace

const char* to_string(LineFault fault) {
    switch (fault) {
        case LineFault::none:
            return "the line is good";
        case LineFault::too_long:
            return "the line is too long";
        case LineFault::bare_lf:
            return "the line ends in LF without CR";
        case LineFault::stray_cr:
            return "the line holds a CR";
        case LineFault::nul:
            return "the line holds a NUL";
        case LineFault::lone_iac:
            return "the line holds a 0xFF that is not doubled";
    }
    LAMBDA_ASSERT(false);
}

std::size_t LineFramer::feed(std::string_view bytes) {
    if (ready_) return 0;
    const std::size_t end = bytes.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view taken = whole ? bytes.substr(0, end + 1) : bytes;
    if (too_long_ || raw_.size() + taken.size() > kMaxLine) {
        too_long_ = true;
        raw_.clear();
    } else {
        raw_ += taken;
    }
    ready_ = whole;
    return taken.size();
}

Line LineFramer::take() {
    LAMBDA_ASSERT(ready_);
    Line line = too_long_ ? Line{.text = {}, .fault = LineFault::too_long}
                          : decode(std::string_view(raw_).substr(0, raw_.size() - 1));
    raw_.clear();
    too_long_ = false;
    ready_ = false;
    return line;
}

std::string on_one_line(std::string_view text) {
    std::string line(text);
    for (char& c : line) c = c == '\r' || c == '\n' || c == '\0' ? '?' : c;
    return line;
}

std::string format_line(std::string_view text) {
    std::string line;
    for (const char c : on_one_line(text)) {
        const std::size_t width = c == kIac ? 2 : 1;
        if (line.size() + width + 2 > kMaxLine) break;
        if (c == kIac) line += kIac;
        line += c;
    }
    return line + "\r\n";
}

bool fits_line(std::string_view text) {
    const auto doubled = std::count(text.begin(), text.end(), kIac);
    return text.size() + static_cast<std::size_t>(doubled) + 2 <= kMaxLine &&
           text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace lambda::session
