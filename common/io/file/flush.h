// fsync(2) of names and of what may be a directory.
#pragma once

namespace lambda::io {

// Flushes the directory of an open file: the names that were made in it last. As flush_opened().
int sync_directory(int directory, int file);
// As fsync(2), and 0 where the file system knows no such thing (EINVAL) for a directory (vboxsf,
// 9p), or for anything, since nothing is written there (squashfs).
int flush_opened(int file);

}  // namespace lambda::io
