// What of a page stands in it as HTML, so that it reads where no script runs: its texts, tables and
// bars. For the charts, which the script draws, there is an element a section. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/report/page.h"

namespace lambda::report {

std::string markup(const Page& page);

// As text of HTML or the value of a quoted attribute; what is no UTF-8 is replaced.
std::string escaped(std::string_view text);

}  // namespace lambda::report
