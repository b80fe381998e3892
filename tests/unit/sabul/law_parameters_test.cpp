#include "common/sabul/congestion/parameters.h"

#include <array>

#include "common/sabul/congestion/registry.h"
#include "tests/support/catch.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

std::string error_of(std::string_view text) {
    const Result<void> checked = check_law(text);
    return checked.ok() ? "" : checked.error().sentence();
}

}  // namespace

TEST_CASE("parameters of a law are taken by type, whatever the case of their names") {
    Parameters given("MIMD:t=400ms,K1=0.25,interface=2.5Gbit/s,preset=PR1");
    CHECK(given.law() == "mimd");
    CHECK(given.duration("T", 1s, 1ms, 10s) == 400ms);
    CHECK(given.number("k1", 1, {0, 1}) == 0.25);
    CHECK(given.number("k2", 7, {0, 10}) == 7);
    CHECK(given.rate("interface", BitRate{1}, BitRate{1}, BitRate{1e12}) == BitRate{2.5e9});
    const std::array<std::string_view, 2> words{"pr0", "pr1"};
    CHECK(given.choice("preset", words, 0) == 1);
    CHECK(given.finish().ok());
}

TEST_CASE("every law is known by name, with its parameters and without") {
    const std::vector<std::string> expected{"sabul", "fixed",    "sabul2000", "sabul2003", "mimd",
                                            "reno",  "hstcp",    "stcp",      "bic",       "cubic",
                                            "htcp",  "westwood", "htcp-be"};
    for (const std::string& name : expected) {
        CAPTURE(name);
        CHECK(check_law(name).ok());
        CHECK(make_law(name, {}) != nullptr);
        CHECK(governs_transfer(name) ==
              (name == "sabul" || name == "background" || name == "fixed"));
    }
    for (const char* text :
         {"mimd:preset=rc,T=20ms,k1=0.125,k2=10,c=2,d=0.1,b=0.5,alpha=0.001,V=10",
          "mimd:interface=10Gbit/s", "sabul2003:freeze=syn", "sabul2000:check=5000", "stcp:a=0.005",
          "bic:preset=linux", "htcp:rttscaling=on", "westwood:filter=tustin",
          "htcp-be:filter=tustin,scaling=on"}) {
        CAPTURE(text);
        CHECK(error_of(text) == "");
        CHECK(make_law(text, {}) != nullptr);
        CHECK_FALSE(governs_transfer(text));
    }
}

TEST_CASE("an unknown law is refused with those there are") {
    for (const char* text : {"warp", "", "mimd2", ":T=1s", "warp:T=1s"}) {
        CAPTURE(text);
        CHECK(make_law(text, {}) == nullptr);
        REQUIRE_FALSE(check_law(text).ok());
        CHECK(check_law(text).error().fault == Fault::unsupported);
        CHECK_THAT(error_of(text), Catch::Contains("sabul2003, mimd, reno"));
    }
}

TEST_CASE("an unknown or wrong parameter is refused with what is allowed") {
    const std::pair<const char*, const char*> cases[] = {
        {"mimd:speed=9", "has no parameter 'speed'; it has preset (pr0, pr1, rc), T (1.0 ms to"},
        {"reno:beta=0.5", "law 'reno' has no parameter 'beta'; it has none"},
        {"mimd:preset=pr9", "it is one of pr0, pr1, rc"},
        {"mimd:T=400", "'400' is no value of T"},
        {"mimd:T=0ms", "'0ms' is no value of T"},
        {"mimd:k1=abc", "'abc' is no value of k1 of law 'mimd'; it is 0 to 1000"},
        {"mimd:k1=-1", "it is 0 to 1000"},
        {"mimd:k1=nan", "it is 0 to 1000"},
        {"mimd:k1=1x", "it is 0 to 1000"},
        {"mimd:alpha=2", "it is 0 to 1"},
        {"mimd:interface=fast", "it is 1.00 Mbit/s to 1.00 Tbit/s"},
        {"mimd:k1=1,K1=2", "stands twice"},
        {"mimd:", "is no parameter of a law"},
        {"mimd:k1", "is no parameter of a law"},
        {"mimd:k1=", "is no parameter of a law"},
        {"mimd:=1", "is no parameter of a law"},
        {"mimd:k1=1,", "is no parameter of a law"},
    };
    for (const auto& [text, expected] : cases) {
        CAPTURE(text);
        CHECK(make_law(text, {}) == nullptr);
        REQUIRE_FALSE(check_law(text).ok());
        CHECK(check_law(text).error().fault == Fault::usage);
        CHECK_THAT(error_of(text), Catch::Contains(expected));
    }
}
