// The congestion laws by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

// Names that make_law() knows, the default first.
std::vector<std::string> law_names();

// Null for an unknown name.
std::unique_ptr<Law> make_law(std::string_view name, const LawSettings& settings);

// True for a law of which one instance governs a whole transfer; false for the papers' laws, which
// run one to each stripe.
bool governs_transfer(std::string_view name);

}  // namespace lambda::sabul
