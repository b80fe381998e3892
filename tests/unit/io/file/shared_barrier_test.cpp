#include "common/io/file/shared_barrier.h"

#include <linux/magic.h>

#include <initializer_list>

#include "tests/support/catch.h"

using lambda::io::syncfs_is_barrier;

TEST_CASE("a barrier is shared only where syncfs is one") {
    for (const long type : std::initializer_list<long>{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
                                                       BTRFS_SUPER_MAGIC, TMPFS_MAGIC})
        CHECK(syncfs_is_barrier(type));
    for (const long type : std::initializer_list<long>{FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,
                                                       OVERLAYFS_SUPER_MAGIC, CEPH_SUPER_MAGIC, 0})
        CHECK_FALSE(syncfs_is_barrier(type));
}
