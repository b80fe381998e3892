#include "common/session/copy.h"

#include "common/session/fact_text.h"
#include "common/session/facts.h"
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
                         .sync = std::string("\x2a\x00", 2),
                         .path = "/with blanks; and so on"};
    const auto parsed = parse_grant_request(format_grant_request(request));
    REQUIRE(parsed);
    CHECK(*parsed == request);
    CHECK(*parse_grant(format_grant(example().grant)) == example().grant);
}

TEST_CASE("each cut of a request is refused") {
    const std::string whole = format_copy_request(example());
    const std::size_t end = whole.find("; /here") + 3;
    for (std::size_t length = 0; length < end; ++length) {
        INFO(length);
        CHECK_FALSE(parse_copy_request(whole.substr(0, length)));
    }
}

TEST_CASE("orders") {
    for (const CopyOrder order : {CopyOrder{}, CopyOrder{CopyOrder::What::wait, 7},
                                  CopyOrder{CopyOrder::What::cancel, UINT64_MAX}}) {
        const auto parsed = parse_copy_order(format_copy_order(order));
        REQUIRE(parsed);
        CHECK(**parsed == order);
    }
    CHECK_FALSE(*parse_copy_order(format_copy_request(example())));
    CHECK_FALSE(parse_copy_order("do=dance;"));
    CHECK_FALSE(parse_copy_order("do=wait;"));
}

TEST_CASE("a status survives its line") {
    CopyStatus status;
    status.copy = 3;
    status.state = CopyState::moving;
    status.peer = "[::1]:2811";
    status.there = "/x y";
    status.bytes = 5;
    status.total_bytes = 6;
    status.path = "/a; b";
    const auto parsed = parse_copy_status(format_copy_status(status));
    REQUIRE(parsed);
    CHECK(*parsed == status);
}

TEST_CASE("values are encoded and refused where they are broken") {
    for (const char* text : {"", "a", "%", "a;b c", "\x01\x7f\xff"}) {
        CHECK(*decode_value(encode_value(text)) == text);
    }
    for (const char* text : {"%", "%4", "%zz", "%0d", "%0A", "%00", "a%"}) {
        INFO(text);
        CHECK_FALSE(decode_value(text));
    }
}
