// Which bytes of a name are UTF-8. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace lambda {

// The length of the UTF-8 sequence at the start of `text` (RFC 3629: shortest form, no surrogates,
// nothing above U+10FFFF); 0 where there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace lambda
