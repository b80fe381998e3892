// What is too much for memory, for as long as it is open: an unlinked file in TMPDIR, or /tmp.
// Readable and writable by nobody else. Where it cannot be made the descriptor is none, and errno
// tells why.
#pragma once

#include "common/io/file/root.h"

namespace lambda::io {

Descriptor temporary_file();

}  // namespace lambda::io
