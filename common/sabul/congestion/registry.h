// The congestion laws by name. A name may carry parameters, "mimd:preset=pr1,T=400ms"
// (parameters.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/sabul/congestion/law.h"

namespace lambda::sabul {

// Names that make_law() knows, without parameters, the default first.
std::vector<std::string> law_names();

// Null where check_law() tells an error.
std::unique_ptr<Law> make_law(std::string_view text, const LawSettings& settings);

// Fault::unsupported for an unknown name, Fault::usage for unknown or wrong parameters; the remedy
// tells what there is.
Result<void> check_law(std::string_view text);

// True for a law of which one instance governs a whole transfer; false for the papers' laws, which
// run one to each stripe.
bool governs_transfer(std::string_view text);

// True for a law that takes each loss for a sign of congestion and gives way to it.
bool yields_to_loss(std::string_view text);
// True for the law whose rate nothing changes.
bool keeps_rate(std::string_view text);

}  // namespace lambda::sabul
