// LAMBDA_ASSERT: a bug stops the process, in every build. Never for input from outside.
#pragma once

namespace lambda {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

#define LAMBDA_ASSERT(expression)        \
    ((expression) ? static_cast<void>(0) \
                  : ::lambda::assertion_failed(#expression, __FILE__, __LINE__))
