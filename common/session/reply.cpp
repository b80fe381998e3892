#include "common/session/reply.h"

#include <algorithm>
#include <utility>

#include "common/session/facts.h"

namespace lambda::session {
namespace {

Error protocol_error(std::string message) {
    return Error{.fault = Fault::protocol,
                 .message = std::move(message),
                 .path = {},
                 .side = Side::remote,
                 .remedy = {}};
}

// 100 to 599, or 0.
int code_of(std::string_view text) {
    if (text.size() < 3) return 0;
    int code = 0;
    for (const char c : text.substr(0, 3)) {
        if (c < '0' || c > '9') return 0;
        code = code * 10 + (c - '0');
    }
    return code >= 100 && code <= 599 ? code : 0;
}

char mark_of(std::string_view text) {
    return text.size() > 3 ? text[3] : ' ';
}

std::string text_of(std::string_view text) {
    return std::string(text.substr(std::min<std::size_t>(4, text.size())));
}

std::string coded(int code, char mark, std::string_view text) {
    LAMBDA_ASSERT(code >= 100 && code <= 599);
    return format_line(std::to_string(code) + mark + std::string(text));
}

}  // namespace

std::string format_reply(int code, std::string_view text) {
    return coded(code, ' ', text);
}
std::string format_reply_start(int code, std::string_view text) {
    return coded(code, '-', text);
}
std::string format_reply_middle(std::string_view text) {
    return format_line(" " + std::string(text));
}

std::string format_reply(const Reply& reply) {
    LAMBDA_ASSERT(!reply.lines.empty());
    if (reply.lines.size() == 1) return format_reply(reply.code, reply.text());
    std::string wire = format_reply_start(reply.code, reply.lines.front());
    for (std::size_t i = 1; i + 1 < reply.lines.size(); ++i) {
        wire += format_reply_middle(reply.lines[i]);
    }
    return wire + format_reply(reply.code, reply.lines.back());
}

Result<std::optional<ReplyLine>> ReplyReader::next() {
    if (!framer_.ready()) return std::optional<ReplyLine>();
    const Line line = framer_.take();
    if (line.fault != LineFault::none) {
        return protocol_error(std::string("the server's reply is malformed: ") +
                              to_string(line.fault));
    }
    const std::string_view text = line.text;
    const int code = code_of(text);
    ReplyLine out;
    if (open_ == 0) {
        if (code == 0 || (mark_of(text) != ' ' && mark_of(text) != '-')) {
            return protocol_error("the server's reply does not begin with a code");
        }
        out = {.code = code, .text = text_of(text), .first = true, .last = mark_of(text) == ' '};
    } else {
        const bool last = code == open_ && mark_of(text) == ' ';
        const bool marked = code == open_ && mark_of(text) == '-';
        const bool indented = !text.empty() && text.front() == ' ';
        out = {.code = open_,
               .text = last || marked ? text_of(text) : std::string(text.substr(indented ? 1 : 0)),
               .first = false,
               .last = last};
    }
    open_ = out.last ? 0 : out.code;
    return std::optional(std::move(out));
}

Result<std::optional<Reply>> ReplyParser::next() {
    Result<std::optional<ReplyLine>> line = reader_.next();
    if (!line) return line.error();
    if (!*line) return std::optional<Reply>();
    ReplyLine& taken = **line;
    // An empty line costs memory too.
    held_ += taken.text.size() + sizeof(std::string);
    if (held_ > most_) return protocol_error("the server's reply is too long");
    reply_.code = taken.code;
    reply_.lines.push_back(std::move(taken.text));
    if (!taken.last) return std::optional<Reply>();
    held_ = 0;
    return std::optional(std::exchange(reply_, {}));
}

std::string format_tally(const Tally& tally) {
    return Facts()
        .add("files", tally.files)
        .add("bytes", tally.bytes)
        .add("failed", tally.failed)
        .text();
}

}  // namespace lambda::session
