#include "common/session/command.h"

#include <string>

#include "tests/support/catch.h"

namespace lambda::session {

TEST_CASE("a command is a verb, one blank and raw bytes") {
    CHECK(*parse_command("noop") == Command{.verb = "NOOP", .argument = ""});
    CHECK(*parse_command("MKD  a b ") == Command{.verb = "MKD", .argument = " a b "});
    CHECK(*parse_command("DELE \xff\xfe") == Command{.verb = "DELE", .argument = "\xff\xfe"});
    for (const std::string line :
         {"", " NOOP", "NO-OP", "N1", "\xff", "ABCDEFGHIJKLMNOPQ", "A\tb"}) {
        CAPTURE(line);
        CHECK_FALSE(parse_command(line).ok());
    }
}

TEST_CASE("a name that the control session cannot carry is refused before it is sent") {
    CHECK(*format_command({.verb = "DELE", .argument = "-x \xff"}) == "DELE -x \xff\xff\r\n");
    CHECK(*format_command({.verb = "NOOP", .argument = ""}) == "NOOP\r\n");
    const Result<std::string> broken = format_command({.verb = "DELE", .argument = "a\nb"});
    REQUIRE_FALSE(broken.ok());
    CHECK(broken.error().fault == Fault::usage);
    CHECK(broken.error().path == "a\nb");
    CHECK_FALSE(format_command({.verb = "DELE", .argument = std::string(5000, 'x')}).ok());
}

TEST_CASE("a JOIN survives the wire and is strict") {
    const JoinRequest request{
        .token = "00112233445566778899aabbccddeeff", .stripe = 63, .epoch = UINT32_MAX};
    CHECK(*parse_join(format_join(request)) == request);
    const std::string token = "token=00112233445566778899aabbccddeeff;";
    for (const std::string& text :
         {token + "stripe=64;epoch=1;", token + "stripe=0;epoch=0;", token + "stripe=0;",
          token + "stripe=0;epoch=1; x", std::string("token=0;stripe=0;epoch=1;"),
          token + "stripe=0;epoch=4294967296;"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_join(text).ok());
    }
}

TEST_CASE("a CKSM survives the wire and is strict") {
    const ChecksumRequest part{.algorithm = "xxh3-128", .offset = 5, .length = 7, .path = "a b"};
    const ChecksumRequest whole{
        .algorithm = "xxh3-128", .offset = 0, .length = std::nullopt, .path = " "};
    CHECK(*parse_checksum(format_checksum(part)) == part);
    CHECK(*parse_checksum(format_checksum(whole)) == whole);
    for (const std::string text :
         {"", "xxh3-128", "xxh3-128 0", "xxh3-128 0 -1", "xxh3-128 0 -1 ", "xxh3-128 0 -2 a",
          "xxh3-128 -1 -1 a", " 0 -1 a", "xxh3-128 9223372036854775808 -1 a"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_checksum(text).ok());
    }
}

}  // namespace lambda::session
