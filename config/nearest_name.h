// What was probably meant by a misspelt name.
#pragma once

#include <string>
#include <vector>

namespace lambda::config {

// The one of `names` that the fewest changed letters make of `name`, at most half of it; or empty.
std::string nearest_name(const std::string& name, const std::vector<std::string>& names);

}  // namespace lambda::config
