// XXH3, by the widest instructions that the processor has where the build has that
// (lambda_use_widest_xxh3 in common/CMakeLists.txt), else as the library was compiled.
#pragma once

#ifdef LAMBDA_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>  // in place of each function that it has
#else
#include <xxhash.h>
#endif
