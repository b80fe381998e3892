// The page without its data: markup, styles and scripts, made at build time (embed.cmake).
#pragma once

namespace lambda::report {

extern const char* const kFrame;
// Where the title, the markup and the data belong, in this order.
constexpr const char* kTitleMark = "<!--title-->";
constexpr const char* kPageMark = "<!--page-->";
constexpr const char* kDataMark = "<!--data-->";

}  // namespace lambda::report
