"""The free memory of a virtual machine, which its host may take away.

A balloon device that reports free pages (virtio's VIRTIO_BALLOON_F_REPORTING) lets the host have what lies free for some
seconds. Whoever wants it then waits for the host, page by page: 0.4 to 0.5 GB/s were measured, where memory that the
machine still has is given and cleared at 2 to 3. So what a run costs would depend on how long the machine was idle, and
on who ran before. Before each run that is measured, whosever it is, as much as it may want is taken and given back.
"""

import functools
import glob
import mmap
import os

REPORTING = 5  # the feature's number
BALLOON = 5  # the device's
POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14
MOST_OF_AVAILABLE = 0.75


@functools.cache
def host_takes():
    for device in glob.glob("/sys/bus/virtio/devices/*"):
        if int(line(device, "device"), 16) == BALLOON and line(device, "features")[REPORTING] == "1":
            return True
    return False


def line(folder, name):
    with open(os.path.join(folder, name)) as file:
        return file.read().strip()


def bring_back(size):
    """So many bytes, or as many as there can be without harm to others. Where no host takes any: nothing."""
    size = min(size, int(available() * MOST_OF_AVAILABLE)) // mmap.PAGESIZE * mmap.PAGESIZE
    if size > 0 and host_takes():
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
            pages.madvise(mmap.MADV_NOHUGEPAGE)  # also what lies free in pieces too small for one
            pages.madvise(POPULATE_WRITE)


def available():
    with open("/proc/meminfo") as file:
        return next(int(entry.split()[1]) << 10 for entry in file if entry.startswith("MemAvailable:"))
