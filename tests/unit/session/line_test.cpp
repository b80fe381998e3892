#include "common/session/line.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace lambda::session {
namespace {

// All lines of `bytes`, fed in pieces of `step`.
std::vector<Line> lines_of(std::string_view bytes, std::size_t step) {
    LineFramer framer;
    std::vector<Line> lines;
    while (!bytes.empty()) {
        bytes.remove_prefix(framer.feed(bytes.substr(0, step)));
        if (framer.ready()) lines.push_back(framer.take());
    }
    return lines;
}

LineFault fault_of(std::string_view bytes) {
    return lines_of(bytes, bytes.size()).at(0).fault;
}

}  // namespace

TEST_CASE("a framer takes no byte behind the line") {
    LineFramer framer;
    CHECK(framer.feed("AUTH TLS\r\n\x16\x03") == 10);
    CHECK(framer.feed("\x16") == 0);
    CHECK(framer.take() == Line{.text = "AUTH TLS", .fault = LineFault::none});
    CHECK(framer.empty());
}

TEST_CASE("lines do not depend on how they arrive") {
    const std::string wire = std::string("A b\r\n\r\nX\xff\xff\xff\xffY\r\nbad\n") + "N\r\n";
    const std::vector<Line> whole = lines_of(wire, wire.size());
    REQUIRE(whole.size() == 5);
    CHECK(whole[2].text == "X\xff\xffY");
    CHECK(whole[3].fault == LineFault::bare_lf);
    for (std::size_t step = 1; step < wire.size(); ++step) CHECK(lines_of(wire, step) == whole);
}

TEST_CASE("what a line may not hold is said") {
    CHECK(fault_of("a\n") == LineFault::bare_lf);
    CHECK(fault_of("\n") == LineFault::bare_lf);
    CHECK(fault_of("a\rb\r\n") == LineFault::stray_cr);
    CHECK(fault_of("a\r\r\n") == LineFault::stray_cr);
    CHECK(fault_of(std::string_view("a\0b\r\n", 5)) == LineFault::nul);
    CHECK(fault_of("a\xff\r\n") == LineFault::lone_iac);
    CHECK(fault_of("\xff\xf4\xff\xf2"
                   "ABOR\r\n") == LineFault::lone_iac);
}

TEST_CASE("a line of 4096 bytes passes and a longer one is dropped to its end") {
    const std::string longest(kMaxLine - 2, 'x');
    CHECK(lines_of(longest + "\r\n", 1000).at(0).text == longest);
    for (const std::size_t extra : {std::size_t{1}, std::size_t{100'000}}) {
        const std::vector<Line> lines =
            lines_of(longest + std::string(extra, 'y') + "\r\nNOOP\r\n", 700);
        REQUIRE(lines.size() == 2);
        CHECK(lines[0].fault == LineFault::too_long);
        CHECK(lines[1].text == "NOOP");
    }
}

TEST_CASE("a formatted line is always a good one") {
    CHECK(format_line("a\xff") == "a\xff\xff\r\n");
    CHECK(format_line(std::string_view("a\r\n\0b", 5)) == "a???b\r\n");
    CHECK(format_line(std::string(5000, 'x')).size() == kMaxLine);
    CHECK(format_line(std::string(5000, '\xff')).size() == kMaxLine);
    CHECK(fits_line(std::string(kMaxLine - 2, 'x')));
    CHECK_FALSE(fits_line(std::string(kMaxLine - 1, 'x')));
    CHECK_FALSE(fits_line(std::string(kMaxLine / 2, '\xff')));
    CHECK_FALSE(fits_line("a\n"));
}

}  // namespace lambda::session
