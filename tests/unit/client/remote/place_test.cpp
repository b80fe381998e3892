#include "client/remote/place.h"

#include <array>

#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::client;

namespace {
Place remote(std::string user, std::string host, std::uint16_t port, std::string path) {
    return {.server = Server{std::move(user), std::move(host), port}, .path = std::move(path)};
}
Place local(std::string path) {
    return {.server = std::nullopt, .path = std::move(path)};
}
}  // namespace

TEST_CASE("places are told apart") {
    const struct {
        const char* text;
        Place expected;
    } cases[] = {
        {"lambda://host/a/b", remote("", "host", 2811, "/a/b")},
        {"lambda://host", remote("", "host", 2811, "/")},
        {"lambda://HOST.Example:2812/a", remote("", "host.example", 2812, "/a")},
        {"lambda://ann@host/a", remote("ann", "host", 2811, "/a")},
        {"lambda://ann%40home@host/a", remote("ann@home", "host", 2811, "/a")},
        {"lambda://[::1]/a", remote("", "::1", 2811, "/a")},
        {"lambda://ann@[2001:DB8::1]:99/a", remote("ann", "2001:db8::1", 99, "/a")},
        {"lambda://[fe80::1%25eth0]/a", remote("", "fe80::1%eth0", 2811, "/a")},
        {"lambda://[FE80::1%25enP2p1s0]/a", remote("", "fe80::1%enP2p1s0", 2811, "/a")},
        {"[FE80::1%enP2p1s0]:a", remote("", "fe80::1%enP2p1s0", 2811, "a")},
        {"lambda://h/a%20b%0Ac%ff%25", remote("", "h", 2811, "/a b\nc\xff%")},
        {"lambda://h/a:b@c", remote("", "h", 2811, "/a:b@c")},
        {"host:a/b", remote("", "host", 2811, "a/b")},
        {"host:/a%20b", remote("", "host", 2811, "/a%20b")},
        {"host:", remote("", "host", 2811, "/")},
        {"ann@host:a:b", remote("ann", "host", 2811, "a:b")},
        {"[::1]:a", remote("", "::1", 2811, "a")},
        {"ann@[::1]:/a", remote("ann", "::1", 2811, "/a")},
        {"file", local("file")},
        {"./host:a", local("./host:a")},
        {"/a:b", local("/a:b")},
        {"a/b:c", local("a/b:c")},
        {"a@b", local("a@b")},
        {"a@b/c:d", local("a@b/c:d")},
        {":a", local(":a")},
        {"[a]", local("[a]")},
        {"[a/b]:c", local("[a/b]:c")},
        {"-x", local("-x")},
        {"a b\n", local("a b\n")},
    };
    for (const auto& c : cases) {
        CAPTURE(c.text);
        const auto place = parse_place(c.text);
        REQUIRE(place.ok());
        CHECK(*place == c.expected);
    }
}

TEST_CASE("bad places are refused as usage") {
    for (const char* text :
         {"", "lambda://", "lambda:///a", "lambda://@h/a", "lambda://h:0/a", "lambda://h:65536/a",
          "lambda://h:x/a", "lambda://h:/a", "lambda://h/%", "lambda://h/%4", "lambda://h/%zz",
          "lambda://h/a%00b", "lambda://[::1/a", "lambda://[::1]x/a", "lambda://u%g@h/a",
          "ftp://h/a", "lambda://u:secret@h/a"}) {
        CAPTURE(text);
        const auto place = parse_place(text);
        REQUIRE(!place.ok());
        CHECK(place.error().fault == Fault::usage);
        CHECK(place.error().sentence().find("secret") == std::string::npos);
    }
}

TEST_CASE("servers are written as they are keyed") {
    CHECK(Server{"", "h", 2811}.endpoint() == "h:2811");
    CHECK(Server{"", "::1", 1}.endpoint() == "[::1]:1");
    CHECK(Server{"u", "h", 1}.known_hosts_key() == "[h]:1");
}

TEST_CASE("a server alone is a place at it, or its name and port") {
    const struct {
        const char* text;
        Server server;
    } cases[] = {
        {"h", {"", "h", 2811}},
        {"u@h", {"u", "h", 2811}},
        {"h:2812", {"", "h", 2812}},
        {"u@[::1]:2812", {"u", "::1", 2812}},
        {"[::1]", {"", "::1", 2811}},
        {"h:", {"", "h", 2811}},
        {"h:2812/a", {"", "h", 2811}},
        {"u@h:runs", {"u", "h", 2811}},
        {"lambda://u@h", {"u", "h", 2811}},
        {"lambda://h:2812/7", {"", "h", 2812}},
    };
    for (const auto& c : cases) {
        CAPTURE(c.text);
        const auto server = parse_server(c.text);
        REQUIRE(server.ok());
        CHECK(*server == c.server);
    }
    for (const char* text : {"", "/a", "./h", "h:0", "h:65536", "h:99999999999", "a/b:1", "::1",
                             "ftp://h", "lambda://h:x"}) {
        CAPTURE(text);
        const auto server = parse_server(text);
        REQUIRE(!server.ok());
        CHECK(server.error().fault == Fault::usage);
    }
}

TEST_CASE("a place beside another is written as that one is") {
    for (const auto& [text, path, beside] : std::initializer_list<std::array<std::string, 3>>{
             {"lambda://ann@h:2812/d%20e/*", "/d e/a%", "lambda://ann@h:2812/d%20e/a%25"},
             {"lambda://[::1]", "x", "lambda://[::1]/x"},
             {"ann@h:d e/*", "d e/a%", "ann@h:d e/a%"},
             {"h:/d/*", "/d/a:b", "h:/d/a:b"},
             {"h:", "x", "h:x"},
             {"[::1]:d/*", "d/x", "[::1]:d/x"}}) {
        CAPTURE(text);
        CHECK(place_beside(text, path) == beside);
        const auto there = parse_place(beside);
        REQUIRE(there);
        CHECK(there->server == parse_place(text)->server);
    }
}
