// Lines of the control session (docs/protocol.md §1): CR LF at the end, at most kMaxLine bytes with
// it, no NUL, no CR or LF within, 0xFF doubled. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lambda::session {

constexpr std::size_t kMaxLine = 4096;  // bytes, with CR LF

enum class LineFault { none, too_long, bare_lf, stray_cr, nul, lone_iac };
const char* to_string(LineFault fault);  // "the line is too long"

struct Line {
    std::string text;  // without CR LF, 0xFF single again; empty where there is a fault
    LineFault fault = LineFault::none;

    bool operator==(const Line&) const = default;
};

// Takes bytes as they come and cuts them into lines. It holds at most kMaxLine bytes: what is
// beyond is dropped up to the next LF, and the line is then said to be too long.
class LineFramer {
  public:
    // Takes bytes up to the end of the next line, and no further, so that the bytes behind it can
    // belong to another protocol. Returns how many it took. While a line is `ready`, it takes none.
    std::size_t feed(std::string_view bytes);
    bool ready() const { return ready_; }
    // The line that is ready.
    Line take();
    // Bytes of an unfinished line.
    bool empty() const { return !ready_ && raw_.empty() && !too_long_; }

  private:
    std::string raw_;
    bool too_long_ = false;
    bool ready_ = false;
};

// What a line shows of any text: CR, LF and NUL become '?'.
std::string on_one_line(std::string_view text);
// The line on the wire: on_one_line(), 0xFF doubled, CR LF added. A text that would be too long is
// cut: a caller that minds asks fits_line() before.
std::string format_line(std::string_view text);
// Whether format_line() sends `text` as it is.
bool fits_line(std::string_view text);

}  // namespace lambda::session
