// fsync(2) of names and of what may be a directory.
#pragma once

namespace lambda::io {

// Flushes the directory of an open file: the names that were made in it last. As flush_opened().
int sync_directory(int directory, int file);
// As fsync(2), and 0 for a directory whose file system knows no such thing (EINVAL: vboxsf, 9p).
int flush_opened(int file);

}  // namespace lambda::io
