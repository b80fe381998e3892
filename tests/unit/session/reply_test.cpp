#include "common/session/reply.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace lambda::session {
namespace {

Result<std::vector<Reply>> replies_of(std::string_view bytes, std::size_t most = 1 << 20) {
    ReplyParser parser(most);
    std::vector<Reply> replies;
    while (!bytes.empty()) {
        bytes.remove_prefix(parser.feed(bytes));
        Result<std::optional<Reply>> reply = parser.next();
        if (!reply) return reply.error();
        if (*reply) replies.push_back(**reply);
    }
    return replies;
}

}  // namespace

TEST_CASE("replies survive the wire") {
    const Reply one{.code = 200, .lines = {"fine \xff"}};
    const Reply two{.code = 250, .lines = {"begin", "end"}};
    const Reply many{.code = 211, .lines = {"Features", "211 looks like an end", "", " x", "End"}};
    const Result<std::vector<Reply>> replies =
        replies_of(format_reply(one) + format_reply(two) + format_reply(many));
    REQUIRE(replies.ok());
    CHECK(*replies == std::vector<Reply>{one, two, many});
}

TEST_CASE("a long reply can be read line by line") {
    ReplyReader reader;
    const std::string wire =
        format_reply_start(250, "Listing") + format_reply_middle("a") + format_reply(250, "End");
    std::string_view left = wire;
    std::vector<ReplyLine> lines;
    while (!left.empty()) {
        left.remove_prefix(reader.feed(left));
        lines.push_back(**reader.next());
    }
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == ReplyLine{.code = 250, .text = "Listing", .first = true, .last = false});
    CHECK(lines[1] == ReplyLine{.code = 250, .text = "a", .first = false, .last = false});
    CHECK(lines[2] == ReplyLine{.code = 250, .text = "End", .first = false, .last = true});
}

TEST_CASE("the other form of a long reply is understood") {
    const Result<std::vector<Reply>> replies = replies_of("211-a\r\n211-b\r\n212 c\r\n211\r\n");
    REQUIRE(replies.ok());
    REQUIRE(replies->size() == 1);
    CHECK(replies->front().lines == std::vector<std::string>{"a", "b", "212 c", ""});
}

TEST_CASE("what is no reply is an error of the protocol") {
    for (const std::string wire : {"hello\r\n", "99 x\r\n", "600 x\r\n", "2x0 a\r\n", "200_a\r\n",
                                   "200 a\n", " 200 a\r\n", "\r\n"}) {
        CAPTURE(wire);
        const Result<std::vector<Reply>> replies = replies_of(wire);
        REQUIRE_FALSE(replies.ok());
        CHECK(replies.error().fault == Fault::protocol);
    }
    CHECK_FALSE(replies_of("200 " + std::string(5000, 'x') + "\r\n").ok());
}

TEST_CASE("a reply without an end is bounded") {
    std::string wire = "250-\r\n";
    for (int i = 0; i < 1000; ++i) wire += "\r\n";
    CHECK_FALSE(replies_of(wire, 10'000).ok());
}

TEST_CASE("what a transfer came to, as 226 says it") {
    CHECK(format_tally({.files = 1, .bytes = UINT64_MAX, .failed = 2}) ==
          "files=1;bytes=18446744073709551615;failed=2;");
}

}  // namespace lambda::session
