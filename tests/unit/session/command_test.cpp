#include "common/session/command.h"

#include <string>

#include "common/session/line.h"
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

TEST_CASE("what the control session cannot carry is refused before it is sent") {
    CHECK(*format_command({.verb = "DELE", .argument = "-x \xff"}) == "DELE -x \xff\xff\r\n");
    CHECK(*format_command({.verb = "NOOP", .argument = ""}) == "NOOP\r\n");
    for (const Command& command : {Command{.verb = "DELE", .argument = std::string(5000, 'x')},
                                   Command{.verb = "DELE", .argument = std::string(1400, '\n')},
                                   Command{.verb = "DELE", .argument = std::string("a\0b", 3)},
                                   Command{.verb = "PASS", .argument = "a\nb"},
                                   Command{.verb = "CWD", .argument = "a\nb"}}) {
        CAPTURE(command.verb);
        const Result<std::string> refused = format_command(command);
        REQUIRE_FALSE(refused.ok());
        const bool long_one = command.argument.size() > 1000;
        CHECK(refused.error().fault == (long_one ? Fault::file : Fault::usage));
        CHECK(refused.error().path == (command.verb == "DELE" ? command.argument : ""));
    }
}

TEST_CASE("of what the control session cannot carry the path alone is shown") {
    const std::string path = std::string(4096, 'x') + " y";
    for (const auto& [verb, before] : {std::pair{"COPY", "grant=0123;there=/a; "},
                                       {"XFER", "token=0123; "},
                                       {"STAGE", "stage=0123; "},
                                       {"GRANT", "peer=0123; "},
                                       {"CKSM", "crc32c 0 -1 "}}) {
        CAPTURE(verb);
        const auto refused = format_command({.verb = verb, .argument = before + path});
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().fault == Fault::file);
        CHECK(refused.error().path == path);
    }
}

TEST_CASE("a path of any bytes survives the wire, and goes as it is where it can") {
    const std::string every = [] {
        std::string bytes;
        for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
        return bytes;
    }();
    for (const std::string& path : {every, std::string("a\nb"), std::string("\r"),
                                    std::string("\n 50%0A"), std::string(" %")}) {
        CAPTURE(path);
        for (const char* verb : {"DELE", "CKSM", "XFER", "GRANT"}) {
            const Command command{.verb = verb, .argument = path};
            const Result<std::string> wire = format_command(command);
            REQUIRE(wire.ok());
            LineFramer framer;
            REQUIRE(framer.feed(*wire) == wire->size());
            const Line line = framer.take();
            REQUIRE(line.fault == LineFault::none);
            CHECK(*parse_command(line.text) == command);
            const bool plain = path.find_first_of("\r\n") == path.npos;
            CHECK(wire->starts_with(plain ? verb : "PCT "));
        }
    }
    CHECK(*format_command({.verb = "SIZE", .argument = "a\r\n%"}) == "PCT SIZE a%0D%0A%25\r\n");
    // What older clients and others send is what it always was.
    CHECK(parse_command("DELE 50%0A%")->argument == "50%0A%");
}

TEST_CASE("PCT carries a command with a path, percent-encoded") {
    CHECK(*parse_command("pct dele %61%2fb%2Fc\t%FF") ==
          Command{.verb = "DELE", .argument = "a/b/c\t\xff"});
    CHECK(*parse_command("PCT MLST") == Command{.verb = "MLST", .argument = ""});
    CHECK(*parse_command("PCT SIZE %2e%2e/%20x") == Command{.verb = "SIZE", .argument = "../ x"});
    CHECK(*parse_command("PCT DELE %2541") == Command{.verb = "DELE", .argument = "%41"});
    for (const std::string line :
         {"PCT",           "PCT ",           "PCT  DELE a",    "PCT DELE %",    "PCT DELE a%",
          "PCT DELE %0",   "PCT DELE %0g",   "PCT DELE %%41",  "PCT DELE % 41", "PCT DELE %+1",
          "PCT DELE a%00", "PCT DELE %00/a", "PCT PCT DELE a", "PCT USER a",    "PCT PASS a",
          "PCT CWD a",     "PCT QUIT",       "PCT JOIN a",     "PCT DE%4cE a",  "%50CT DELE a",
          "PCT ABOR"}) {
        CAPTURE(line);
        const Result<Command> refused = parse_command(line);
        REQUIRE_FALSE(refused.ok());
        CHECK(refused.error().fault == Fault::usage);
    }
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
