// Window laws that know the window alone: reno, hstcp, stcp, bic. Vectors and response functions.
#include "common/sabul/congestion/bic.h"
#include "common/sabul/congestion/hstcp.h"
#include "common/sabul/congestion/reno.h"
#include "common/sabul/congestion/stcp.h"
#include "tests/support/catch.h"
#include "tests/unit/sabul/deterministic_loss.h"

using namespace lambda;
using namespace lambda::sabul;
using namespace std::chrono_literals;

namespace {

template <typename Rule>
std::unique_ptr<WindowRule> rule(const char* text) {
    Parameters parameters(text);
    auto made = std::make_unique<Rule>(parameters);
    REQUIRE(parameters.finish().ok());
    return made;
}

const WindowPath kPath{};

}  // namespace

TEST_CASE("reno: a packet a round trip, half at a loss") {
    Reno reno;
    CHECK(reno.grown(kPath, 100, 100) == Approx(101));
    CHECK(reno.grown(kPath, 100, 1) == Approx(100.01));
    CHECK(reno.reduced(kPath, 100) == 50);
}

TEST_CASE("reno: the response function") {
    const std::pair<double, double> cells[] = {
        {1e-3, 38.5}, {1e-4, 122.2}, {1e-5, 387}, {1e-6, 1224}, {1e-7, 3873}};
    for (const auto& [p, window] : cells) {
        CAPTURE(p);
        CHECK(mean_window(std::make_unique<Reno>(), 100ms, p) == Approx(window).epsilon(0.05));
    }
}

TEST_CASE("hstcp: RFC 3649's table at its edges") {
    const std::pair<double, double> increases[] = {
        {38, 1},   {118, 2},   {221, 3},   {347, 4},   {495, 5},   {663, 6},   {851, 7},  {1058, 8},
        {1284, 9}, {1529, 10}, {1793, 11}, {2076, 12}, {2378, 13}, {5036, 20}, {8130, 26}};
    for (const auto& [window, a] : increases) {
        CAPTURE(window);
        CHECK(Hstcp::increase(window) == Approx(a).margin(0.05 * a));
        CHECK(std::round(Hstcp::increase(window)) == a);
    }
    CHECK(Hstcp::increase(118) == Approx(2.00).margin(0.01));
    CHECK(Hstcp::decrease(38) == 0.5);
    CHECK(Hstcp::decrease(1058) == Approx(0.33).margin(0.005));
    CHECK(Hstcp::decrease(5036) == Approx(0.25).margin(0.005));
    CHECK(Hstcp::decrease(8130) == Approx(0.22).margin(0.005));
    CHECK(Hstcp::decrease(83000) == Approx(0.1));
    CHECK(Hstcp::decrease(1e6) == 0.1);
    CHECK(Hstcp::increase(20) == 1);
    CHECK(Hstcp::increase(38.001) == 1);  // nowhere less than Reno
}

TEST_CASE("hstcp: the response function") {
    const std::pair<double, double> cells[] = {
        {1e-3, 40.2}, {1e-4, 263.5}, {1e-5, 1812}, {1e-6, 12418}, {1e-7, 84929}};
    for (const auto& [p, window] : cells) {
        CAPTURE(p);
        CHECK(mean_window(std::make_unique<Hstcp>(), 100ms, p) == Approx(window).epsilon(0.05));
    }
}

TEST_CASE("stcp: 0.01 for each packet, 0.875 at a loss, Reno up to 16") {
    const auto stcp = rule<Stcp>("stcp");
    CHECK(stcp->grown(kPath, 1000, 100) == Approx(1001));
    CHECK(stcp->reduced(kPath, 1000) == 875);
    CHECK(stcp->grown(kPath, 16, 16) == Approx(17));
    CHECK(stcp->reduced(kPath, 16) == 8);
    CHECK(rule<Stcp>("stcp:a=0.02")->grown(kPath, 1000, 100) == Approx(1002));
}

TEST_CASE("stcp: the response function, for Kelly's a and for the one of the 2006 paper") {
    const std::tuple<double, double, double> cells[] = {{1e-3, 74.5, 37.4},
                                                        {1e-4, 745, 374},
                                                        {1e-5, 7455, 3737},
                                                        {1e-6, 74547, 37366},
                                                        {1e-7, 745472, 373660}};
    for (const auto& [p, kelly, paper] : cells) {
        CAPTURE(p);
        CHECK(mean_window(rule<Stcp>("stcp"), 100ms, p) == Approx(kelly).epsilon(0.05));
        CHECK(mean_window(rule<Stcp>("stcp:a=0.005"), 100ms, p) == Approx(paper).epsilon(0.05));
    }
}

TEST_CASE("bic: the paper's search: the middle, at most 32; beyond, 1, 2, 4 ... 32") {
    Parameters none("bic");
    Bic bic(none);
    CHECK(bic.reduced(kPath, 1000) == 875);
    CHECK(bic.last_window() == 1000);
    CHECK(bic.increase(875) == 32);
    CHECK(bic.increase(960) == Approx(20));
    CHECK(bic.increase(999) == Approx(0.5));
    CHECK(bic.increase(999.999) == Approx(0.01));
    CHECK(bic.increase(1000.5) == 1);
    CHECK(bic.increase(1004) == Approx(4));
    CHECK(bic.increase(1500) == 32);
    // Fast convergence: not come back to 1000.
    CHECK(bic.reduced(kPath, 960) == 840);
    CHECK(bic.last_window() == Approx((960 + 840) / 2));
    // Reno up to 14.
    CHECK(bic.grown(kPath, 14, 14) == Approx(15));
    CHECK(bic.reduced(kPath, 14) == 7);
}

TEST_CASE("bic: Linux' constants") {
    Parameters linux("bic:preset=linux");
    Bic bic(linux);
    CHECK(bic.reduced(kPath, 1024) == 819);
    CHECK(bic.increase(819) == 16);
    CHECK(bic.increase(1000) == Approx(6));
    CHECK(bic.increase(1022) == Approx(0.2));  // within B / smooth
    CHECK(bic.increase(1026) == Approx(0.2));
    CHECK(bic.increase(1024 + 30) == Approx(10));
    CHECK(bic.increase(1024 + 60) == 16);
    CHECK(bic.reduced(kPath, 1000) == Approx(1000 * 819.0 / 1024));
    CHECK(bic.last_window() == Approx(1000 * (1 + 819.0 / 1024) / 2));
}

TEST_CASE("bic: comes back to the window before the loss along its own curve") {
    Parameters none("bic");
    Bic bic(none);
    double window = bic.reduced(kPath, 1000);
    int rounds = 0;
    while (window < 999 && rounds < 100) {
        window = bic.grown(kPath, window, window);
        ++rounds;
    }
    // 61 to go at 32 a round, then halves: 64, 32 ... 1.
    CHECK(rounds >= 8);
    CHECK(rounds <= 10);
}
