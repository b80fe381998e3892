// The page without its data: markup, styles and scripts, made at build time (embed.cmake).
#pragma once

namespace lambda::report {

extern const char* const kFrame;
// Where the data belong.
constexpr const char* kDataMark = "<!--data-->";

}  // namespace lambda::report
