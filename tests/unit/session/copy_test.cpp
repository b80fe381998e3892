#include "common/session/copy.h"

#include "common/session/fact_text.h"
#include "common/session/facts.h"
#include "common/session/line.h"
#include "common/session/percent.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::session;

namespace {

CopyRequest example() {
    CopyRequest request;
    request.terms.direction = Direction::get;
    request.host = "2001:db8::1";
    request.port = 2811;
    request.peer = "SHA256:abc";
    request.grant = "000102030405060708090a0b0c0d0e0f";
    request.there = "/a b;c%\xff/\xc3\xbc";
    request.contents = true;
    request.detach = true;
    request.walk = std::string("\x29\x00\x01", 3);
    request.sync = std::string("\x2a\x00", 2);
    request.again = std::chrono::seconds(3600);
    request.hours =
        *RateTimetable::parse("08:00-18:30 200Mbit/s, 18:30-24:00 max, 00:00-00:01 1bit/s");
    request.path = "/here; and there";
    return request;
}

}  // namespace

TEST_CASE("a request for a copy survives its line") {
    const auto parsed = parse_copy_request(format_copy_request(example()));
    REQUIRE(parsed);
    CHECK(*parsed == example());
}

TEST_CASE("a request for a grant survives its line") {
    GrantRequest request{.direction = Direction::put,
                         .peer = "SHA256:abc",
                         .size = 12,
                         .life = std::chrono::seconds(7),
                         .contents = false,
                         .several = true,
                         .follow = true,
                         .archive = true,
                         .sync = std::string("\x2a\x00", 2),
                         .again = kLongestAgain,
                         .path = "/with blanks; and so on"};
    const auto parsed = parse_grant_request(format_grant_request(request));
    REQUIRE(parsed);
    CHECK(*parsed == request);
    CHECK(*parse_grant(format_grant(example().grant)) == example().grant);
}

TEST_CASE("what is longer than a line goes ahead of it") {
    CopyRequest request = example();
    for (int i = 0; i < 1000; ++i) request.names.push_back("a name\n;" + std::to_string(i));
    std::string ahead;
    for (const std::string& argument : format_ahead(ahead_of(request))) {
        CHECK(argument.size() < 4000);
        const auto order = parse_copy_order(argument);
        REQUIRE(order);
        CHECK((*order)->what == CopyOrder::What::ahead);
        ahead += (*order)->part;
    }
    auto parsed = parse_copy_request(format_copy_request(request), ahead);
    REQUIRE(parsed);
    CHECK(*parsed == request);
    CHECK_FALSE(parse_copy_request(format_copy_request(request)));

    request.names.clear();
    request.walk.assign(100'000, '\x29');
    parsed = parse_copy_request(format_copy_request(request), ahead_of(request));
    REQUIRE(parsed);
    CHECK(*parsed == request);
    CHECK(ahead_of(example()).empty());

    GrantRequest grant{.direction = Direction::get, .peer = "SHA256:abc", .path = "/x"};
    grant.names = {"a", "b"};
    for (const auto& found :
         {std::optional<std::uint16_t>(), std::optional<std::uint16_t>(0), {4096}}) {
        grant.found = request.found = found;
        CHECK(*parse_grant_request(format_grant_request(grant), ahead_of(grant)) == grant);
        CHECK(*parse_copy_request(format_copy_request(request), ahead_of(request)) == request);
    }
    CHECK(found_bytes(std::nullopt, "a") == 0);
    CHECK(found_bytes(0, "a") == 1);
    CHECK(found_bytes(7, "a") == 9);  // "sub/dir" and "/a"
    for (const std::string& bad :
         {std::string("a"), std::string("a\0b", 3), std::string("\0", 1), std::string("..\0", 3),
          std::string(".\0", 2), std::string("a/b\0", 4), std::string(256, 'x') + '\0',
          std::string()}) {
        INFO(bad);
        CHECK_FALSE(parse_grant_request(format_grant_request(grant), bad));
    }
    std::string many;
    for (std::size_t i = 0; i <= kMaxNames; ++i) many += std::string("x\0", 2);
    CHECK_FALSE(parse_grant_request(format_grant_request(grant), many));
    // What went ahead is for one fact alone.
    const std::string both = "direction=put;peer=SHA256:abc;life=9;sync=ahead;names=ahead; /x";
    CHECK_FALSE(parse_grant_request(both, std::string("a\0", 2)));
    CHECK_FALSE(parse_copy_order("do=ahead;part=123;"));
    CHECK_FALSE(parse_copy_order("do=ahead;"));
    CHECK(path_in("/a", "b") == "/a/b");
    CHECK(path_in("/", "b") == "/b");
}

TEST_CASE("each cut of a request is refused") {
    const std::string whole = format_copy_request(example());
    const std::size_t end = whole.find("; /here") + 3;
    for (std::size_t length = 0; length < end; ++length) {
        INFO(length);
        CHECK_FALSE(parse_copy_request(whole.substr(0, length)));
    }
}

TEST_CASE("a timetable that makes no sense is refused") {
    std::string text = format_copy_request(example());
    const std::size_t at = text.find("hours=");
    REQUIRE(at != text.npos);
    text.erase(at, text.find(';', at) + 1 - at);
    CHECK(parse_copy_request("hours=00:00-24:00%20max;" + text));
    for (const char* bad : {"", "x", "%", "00:00-25:00%20max", "00:00-24:00%2099999Tbit/s",
                            "00:00-24:00%200.5bit/s"}) {
        INFO(bad);
        CHECK_FALSE(parse_copy_request(std::string("hours=") + bad + ";" + text));
    }
}

TEST_CASE("orders") {
    for (const CopyOrder& order :
         {CopyOrder{}, CopyOrder{.what = CopyOrder::What::wait, .copy = 7},
          CopyOrder{.what = CopyOrder::What::cancel, .copy = UINT64_MAX},
          CopyOrder{.what = CopyOrder::What::cancel, .copy = 7, .grant = example().grant}}) {
        const auto parsed = parse_copy_order(format_copy_order(order));
        REQUIRE(parsed);
        CHECK(**parsed == order);
    }
    CHECK_FALSE(*parse_copy_order(format_copy_request(example())));
    CHECK_FALSE(parse_copy_order("do=dance;"));
    CHECK_FALSE(parse_copy_order("do=wait;"));
    CHECK_FALSE(parse_copy_order("do=cancel;copy=7;grant=12;"));
}

TEST_CASE("a status survives its line") {
    CopyStatus status;
    status.copy = 3;
    status.state = CopyState::moving;
    status.peer = "[::1]:2811";
    status.there = "/x y";
    status.bytes = 5;
    status.total_bytes = 6;
    status.standstill = "a firewall; 100% dropped";
    for (const char* path : {"/a; b", "/50%0A", "/a\r\n50%"}) {
        status.path = path;
        const std::string text = format_copy_status(status);
        CHECK(fits_line(text));
        const auto parsed = parse_copy_status(text);
        REQUIRE(parsed);
        CHECK(*parsed == status);
    }
    CHECK_FALSE(parse_copy_status(format_copy_status(status) + "%"));
}

TEST_CASE("values are encoded and refused where they are broken") {
    for (const char* text : {"", "a", "%", "a;b c", "\x01\x7f\xff", "a\r\nb"}) {
        CHECK(*percent_decode(encode_value(text)) == text);
    }
    std::string text = format_copy_request(example());
    const std::size_t at = text.find("there=");
    REQUIRE(at != text.npos);
    text.erase(at, text.find(';', at) + 1 - at);
    CHECK(parse_copy_request("there=a%0d%0Ab;" + text)->there == "a\r\nb");
    for (const char* bad : {"", "%", "%4", "%zz", "%00", "a%", "a%00b"}) {
        INFO(bad);
        CHECK_FALSE(parse_copy_request(std::string("there=") + bad + ";" + text));
    }
    CopyRequest request = example();
    request.host = "host\n";
    CHECK_FALSE(parse_copy_request(format_copy_request(request)));
}
