"""Small file systems on loop devices, and one that does not answer."""

import ctypes
import fcntl
import mmap
import os
import select
import struct
import subprocess

from harness import MIB, need, need_isolation, need_program, wait_for


def run(*command):
    result = subprocess.run(command, capture_output=True)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stderr.decode()}")


class Image:
    """A file with a file system in it, mounted while it is wanted."""

    def __init__(self, case, mkfs, size):
        need_isolation()
        need(os.path.exists("/dev/loop-control"), "no loop devices")
        self.file = os.path.join(case.scratch, "image")
        self.folder = case.folder("mounted")
        if size > 0:
            with open(self.file, "wb") as file:
                file.truncate(size)
        run(need_program(mkfs[0]), *mkfs[1:], self.file)
        self.mounted = False
        case.addCleanup(self.unmount)
        self.mount()

    def mount(self):
        result = subprocess.run([need_program("mount"), "-o", "loop", self.file, self.folder], capture_output=True)
        need(result.returncode == 0, f"cannot mount: {result.stderr.decode().strip()}")
        self.mounted = True

    def unmount(self):
        if self.mounted:
            # Lazily: a server that is being killed may still hold a file.
            run(need_program("umount"), "-l", self.folder)
            self.mounted = False

    def unmount_once_free(self):
        """The kernel lets go of a killed program's io_uring a little later."""
        program = need_program("umount")
        wait_for(lambda: subprocess.run([program, self.folder], capture_output=True).returncode == 0,
                 f"the end of all use of {self.folder}")
        self.mounted = False

    def unmount_wholly(self):
        run(need_program("umount"), self.folder)
        self.mounted = False


def loop_device(case, content):
    """A block device that holds this."""
    need_isolation()
    need(os.path.exists("/dev/loop-control"), "no loop devices")
    program = need_program("losetup")
    file = case.file_with(os.path.join(case.scratch, "device"), content)
    result = subprocess.run([program, "--find", "--show", file], capture_output=True, text=True)
    need(result.returncode == 0, f"no loop device: {result.stderr.strip()}")
    device = result.stdout.strip()
    case.addCleanup(run, program, "--detach", device)
    return device


class Silent:
    """A folder whose file system does not answer, as of a server that is gone."""

    def __init__(self, case, folder):
        need_isolation()
        need(os.path.exists("/dev/fuse"), "no FUSE")
        self.folder = folder
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions"
        libc = ctypes.CDLL(None, use_errno=True)
        mounted = libc.mount(b"none", os.fsencode(folder), b"fuse", 0, options.encode())
        need(mounted == 0, f"cannot mount: {os.strerror(ctypes.get_errno())}")
        case.addCleanup(run, need_program("umount"), "-l", folder)
        case.addCleanup(self.die)
        self._begin()

    def _begin(self):
        """Answers the first question of all, with which nobody but the kernel waits."""
        unique = struct.unpack_from("=IIQ", os.read(self.device, 1 << 16))[2]
        answer = struct.pack("=IIIIHHIIHH8I", 7, 31, 0, 0, 8, 8, 4096, 1, 1, 0, *[0] * 8)
        os.write(self.device, struct.pack("=IiQ", 16 + len(answer), 0, unique) + answer)

    def asked(self):
        """Whether somebody waits for an answer."""
        return bool(select.select([self.device], [], [], 0)[0])

    def die(self):
        """Who waits and who asks gets an error from now on."""
        if self.device is not None:
            os.close(self.device)
            self.device = None


def bound(case, behind, front):
    """A folder shown in another place by a program of its own (FUSE), which is returned."""
    need_isolation()
    program = subprocess.Popen([need_program("bindfs"), "-f", behind, front])
    case.addCleanup(program.wait)
    case.addCleanup(program.kill)
    case.addCleanup(run, need_program("umount"), "-l", front)
    wait_for(lambda: program.poll() is not None or os.path.ismount(front), "the mount")
    need(program.poll() is None, "bindfs cannot mount here")
    return program


def small_ext4(case, size=8 * MIB):
    return Image(case, ["mkfs.ext4", "-q", "-m", "0"], size)


def btrfs(case, size=128 * MIB):
    return Image(case, ["mkfs.btrfs", "-q", "--data", "single", "--metadata", "single"], size)


def limit_by_qgroup(image, size):
    program = need_program("btrfs")
    run(program, "quota", "enable", image.folder)
    run(program, "qgroup", "limit", str(size), "0/5", image.folder)


def damage(image, content):
    """Flips a byte of the file data that reads `content`, below the file system's checksums."""
    image.unmount_wholly()
    with open(image.file, "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as raw:
            at = raw.find(content)
            if at < 0:
                raise AssertionError("the content is not in the image")
            raw[at] ^= 1
    image.mount()


def small_xfs(case, size=320 * MIB):
    return Image(case, ["mkfs.xfs", "-q"], size)


# EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number: _IOR('X', 125, __u32).
GOING_DOWN, WITHOUT_LOG_FLUSH = 0x8004587D, 2


def lose_power(image):
    """The file system stops at once; what its log had not written is gone."""
    folder = os.open(image.folder, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, GOING_DOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
    finally:
        os.close(folder)
