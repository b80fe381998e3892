// A run of the lab as a page with tables and charts.
#pragma once

#include <string>

#include "common/report/page.h"
#include "tools/lab/lab.h"

namespace lambda::lab {

// `path` as it was when it began; `command` is the whole command line.
report::Page page_of(const Outcome& outcome, const PathSpec& path, const std::string& command);

}  // namespace lambda::lab
