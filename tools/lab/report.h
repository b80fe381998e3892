// A run of the lab as a page with tables and charts.
#pragma once

#include <string>

#include "common/report/page.h"
#include "tools/lab/lab.h"

namespace lambda::lab {

// `path` in words (path_flags.h); `command` is the whole command line.
report::Page page_of(const Outcome& outcome, const std::string& path, const std::string& command);

}  // namespace lambda::lab
