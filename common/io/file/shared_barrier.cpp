#include "common/io/file/shared_barrier.h"

#include <linux/magic.h>

#include <algorithm>
#include <iterator>

namespace lambda::io {
namespace {

// Those whose sync_fs() waits for data and names, and whose errors syncfs() tells. Not overlayfs:
// before Linux 5.17 an error of what lies below it is lost. Nor any whose inode numbers change
// (target_name.cpp).
constexpr long kBarriers[] = {EXT4_SUPER_MAGIC,  // ext2 and ext3, too
                              XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                              TMPFS_MAGIC,      RAMFS_MAGIC};

}  // namespace

bool syncfs_is_barrier(long type) {
    return std::find(std::begin(kBarriers), std::end(kBarriers), type) != std::end(kBarriers);
}

}  // namespace lambda::io
