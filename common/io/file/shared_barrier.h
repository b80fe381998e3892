// Whether syncfs(2) makes durable what was written to a file system. The kernel answers 0 for one
// that does not take part: FUSE's daemon is not asked (fs/fuse/inode.c, fuse_sync_fs()), a network
// file system has no part in it. Pure.
#pragma once

namespace lambda::io {

// `type`: f_type of statfs(2). False also where nobody knows: then each file is flushed by itself.
bool syncfs_is_barrier(long type);

}  // namespace lambda::io
