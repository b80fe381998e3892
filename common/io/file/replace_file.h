// A small file's content replaced as a whole: a reader, and who comes back after a power cut, finds
// the old content or the new. Blocking.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "common/base/cursor.h"
#include "common/base/result.h"

namespace lambda::io {

// Writes beside `path`, flushes, renames, and flushes the directory. `mode`, less the umask: of the
// new file. `prepare` has it, open, before it gets its name, to set what else it is to have.
Result<void> replace_file(const std::string& path, ByteView content, mode_t mode,
                          const std::function<Result<void>(int file)>& prepare = {});

}  // namespace lambda::io
