// The one place that knows which Catch2 this is: version 2 (Debian 12) or 3 (Ubuntu 24.04). Tests
// use the macros that both share: TEST_CASE, SECTION, CHECK, REQUIRE, INFO, CAPTURE, and Approx.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
