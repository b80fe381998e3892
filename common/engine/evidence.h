// What both ends measured, with the terms that explain it, for the verdict. Pure.
#pragma once

#include "common/base/time.h"
#include "common/engine/setup.h"
#include "common/verdict/verdict.h"

namespace lambda::engine {

// How often an end tells the other what it measured.
constexpr Duration kSpentEvery = std::chrono::milliseconds(250);

verdict::Evidence evidence_of(const Setup& setup, const verdict::Figures& sender,
                              const verdict::Figures& receiver, bool sends);

}  // namespace lambda::engine
