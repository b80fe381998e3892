"""A new ext4 of our own, in a file on the disk: what the machine's own file system remembers of earlier runs,
and what others write to it, is not measured. As mkfs.ext4 makes it, with its journal; written to past the page
cache of the file that holds it. As root."""

import os
import shutil

from bench_parts.hosts import LOOPBACK, PATH


class Ext4:
    """Mounted at `folder`/disk for as long as it is entered."""

    def __init__(self, folder, gib):
        self.image, self.mounted, self.gib = os.path.join(folder, "disk.ext4"), os.path.join(folder, "disk"), gib
        self.device = None

    @staticmethod
    def missing():
        """Why there can be none; None: there can."""
        if os.geteuid() != 0:
            return "needs root, to mount"
        absent = [name for name in ("mkfs.ext4", "losetup", "mount") if not shutil.which(name, path=PATH)]
        return f"not installed: {', '.join(absent)}" if absent else None

    def __enter__(self):
        os.makedirs(self.mounted)
        with open(self.image, "wb") as file:
            file.truncate(self.gib << 30)
        try:
            # No inode tables are written behind our back.
            LOOPBACK.run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", self.image)
            self.device = LOOPBACK.run("losetup", "--find", "--show", "--direct-io=on", self.image).strip()
            LOOPBACK.run("mount", "-o", "noinit_itable", self.device, self.mounted)
        except BaseException:
            self.__exit__()
            raise
        return self.mounted

    def __exit__(self, *_):
        if os.path.ismount(self.mounted):
            LOOPBACK.run("umount", self.mounted)
        if self.device:
            LOOPBACK.run("losetup", "--detach", self.device)
        os.unlink(self.image)
