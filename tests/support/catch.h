// The one place that knows which Catch2 this is: version 2 (Debian 12) or 3 (Ubuntu 24.04). Tests
// use what both have: TEST_CASE, SECTION, CHECK, REQUIRE, INFO, CAPTURE, GENERATE, and the names
// below.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

#include <string>

using Catch::Approx;

namespace Catch {
inline auto Contains(const std::string& part) {
    return Matchers::ContainsSubstring(part);
}
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
