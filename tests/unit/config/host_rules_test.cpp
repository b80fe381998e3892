#include "config/host_rules.h"

#include "config/endpoint.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::config;

namespace {

Address at(const std::string& host) {
    const bool six = host.find(':') != std::string::npos;
    return *parse_endpoint(six ? "[" + host + "]:1" : host + ":1");
}

bool allows(const std::string& rule, const std::string& host, const std::string& address) {
    return HostRules::parse({rule})->allow(host, at(address));
}

}  // namespace

TEST_CASE("no rule, no host") {
    const auto none = HostRules::parse({});
    REQUIRE(none);
    CHECK(none->empty());
    CHECK_FALSE(none->allow("a.example", at("8.8.8.8")));
}

TEST_CASE("rules for hosts") {
    CHECK(allows("*", "x", "127.0.0.1"));
    CHECK(allows("10.1.0.0/16", "x", "10.1.255.3"));
    CHECK_FALSE(allows("10.1.0.0/16", "x", "10.2.0.0"));
    CHECK_FALSE(allows("10.1.0.0/16", "10.1.0.0/16", "11.1.0.1"));
    CHECK(allows("10.1.2.0/23", "x", "10.1.3.9"));
    CHECK_FALSE(allows("10.1.2.0/23", "x", "10.1.4.0"));
    CHECK(allows("10.1.2.3", "x", "10.1.2.3"));
    CHECK_FALSE(allows("10.1.2.3", "x", "10.1.2.4"));
    CHECK(allows("0.0.0.0/0", "x", "10.1.2.4"));
    CHECK_FALSE(allows("0.0.0.0/0", "x", "::1"));
    CHECK(allows("2001:db8::/33", "x", "2001:db8:7fff::1"));
    CHECK_FALSE(allows("2001:db8::/33", "x", "2001:db8:8000::1"));
    CHECK(allows("4you.1st", "4you.1st", "10.0.0.1"));
    CHECK(allows("Store.Example.org", "store.example.ORG", "10.0.0.1"));
    CHECK_FALSE(allows("store.example.org", "store.example.org.evil", "10.0.0.1"));
    CHECK(allows("*.example.org", "a.b.example.org", "10.0.0.1"));
    CHECK_FALSE(allows("*.example.org", "example.org", "10.0.0.1"));
    CHECK_FALSE(allows("*.example.org", "evilexample.org", "10.0.0.1"));
}

TEST_CASE("public leaves out what is not routed in the Internet") {
    for (const char* address : {"8.8.8.8", "172.15.0.1", "100.128.0.1", "2a00::1", "2600::1"}) {
        INFO(address);
        CHECK(allows("public", "x", address));
    }
    for (const char* address : {"0.0.0.0",
                                "10.0.0.1",
                                "100.64.0.1",
                                "127.0.0.1",
                                "169.254.169.254",
                                "172.16.0.1",
                                "172.31.255.255",
                                "192.168.1.1",
                                "198.18.0.1",
                                "224.0.0.1",
                                "255.255.255.255",
                                "::",
                                "::1",
                                "fe80::1",
                                "fc00::1",
                                "fd00::1",
                                "ff02::1",
                                "2001:db8::1",
                                "2002:7f00:1::",
                                "64:ff9b::7f00:1"}) {
        INFO(address);
        CHECK_FALSE(allows("public", "x", address));
    }
}

TEST_CASE("what is no rule is said") {
    for (const char* rule : {"",
                             "10.0.0.0/33",
                             "10.0.0.0/",
                             "10.0.0.0/x",
                             "10.0.0.0/-1",
                             "::/129",
                             "a b",
                             "*.",
                             "*x",
                             "http://x",
                             "a/8",
                             ".example",
                             "-x",
                             "10.0.0.0/8/8",
                             "0",
                             "1.5",
                             "10.1.2",
                             "10.1.2.256",
                             "99999999999999999999",
                             "null",
                             "None"}) {
        INFO(rule);
        const auto parsed = HostRules::parse({rule});
        REQUIRE_FALSE(parsed);
        CHECK(parsed.error().fault == Fault::usage);
    }
}
