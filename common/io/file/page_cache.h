// What the kernel's page cache holds of a file.
#pragma once

#include "common/base/interval_set.h"

namespace lambda::io {

// Whether it holds seven eighths or more of these bytes; longer than 4 GiB they are judged by their
// begin, which a cache that is too small for them loses first. False too where the kernel does not
// say: before 6.5 (cachestat(2)), on some file systems, or of a file of others.
bool mostly_cached(int fd, Range bytes);

}  // namespace lambda::io
