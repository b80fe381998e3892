// Replies of the control session: "ddd text", or "ddd-text", lines with one blank before them, and
// "ddd text" (RFC 959 §4.2). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/session/line.h"

namespace lambda::session {

struct Reply {
    int code = 0;                    // 100 to 599
    std::vector<std::string> lines;  // at least one

    bool operator==(const Reply&) const = default;
    const std::string& text() const { return lines.front(); }
    bool preliminary() const { return code < 200; }
    // What was asked for is done.
    bool positive() const { return code >= 200 && code < 300; }
};

// On the wire. Each line as format_line() gives it.
std::string format_reply(int code, std::string_view text);
std::string format_reply(const Reply& reply);
// The parts of a long reply, for who streams it; format_reply(code, text) ends it.
std::string format_reply_start(int code, std::string_view text);
std::string format_reply_middle(std::string_view text);

struct ReplyLine {
    int code = 0;
    std::string text;  // without the code, or the one blank of a line between
    bool first = true;
    bool last = true;  // the reply ends here

    bool operator==(const ReplyLine&) const = default;
};

// Cuts what a server says into reply lines, one at a time, so that a listing of any length can be
// read in bounded memory. An error (Fault::protocol) is final: the session is of no more use.
class ReplyReader {
  public:
    // Takes bytes up to the end of the next line, no further; returns how many. While a line is
    // ready it takes none.
    std::size_t feed(std::string_view bytes) { return framer_.feed(bytes); }
    // The next line, or nothing while it is not whole.
    Result<std::optional<ReplyLine>> next();

  private:
    LineFramer framer_;
    int open_ = 0;  // the code of a reply that has not ended; 0: none
};

// Whole replies, for those that are short: beyond `most` bytes of text a reply is an error.
class ReplyParser {
  public:
    explicit ReplyParser(std::size_t most = 1 << 20) : most_(most) {}
    std::size_t feed(std::string_view bytes) { return reader_.feed(bytes); }
    // The next reply, or nothing; call it after each feed().
    Result<std::optional<Reply>> next();

  private:
    const std::size_t most_;
    ReplyReader reader_;
    Reply reply_;
    std::size_t held_ = 0;
};

// What a transfer came to: the text of 226, "files=N;bytes=N;failed=N;".
struct Tally {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failed = 0;
};
std::string format_tally(const Tally& tally);

}  // namespace lambda::session
