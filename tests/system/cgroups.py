"""A share of a processor or of a disk for a process: control groups, version 1 or 2."""

import os
import time

from harness import need, need_isolation

PERIOD_US = 100_000


def mounted(controller):
    """(version, folder) of a controller; None where there is none."""
    with open("/proc/mounts") as file:
        mounts = [line.split() for line in file]
    for _, folder, kind, options, *_ in mounts:
        if kind == "cgroup" and controller in options.split(","):
            return 1, folder
    for _, folder, kind, *_ in mounts:
        if kind == "cgroup2":
            name = {"blkio": "io"}.get(controller, controller)
            with open(os.path.join(folder, "cgroup.controllers")) as file:
                if name in file.read().split():
                    return 2, folder
    return None


class Cgroup:
    """A group of its own; launcher() starts a program in it."""

    def __init__(self, case, controller):
        need_isolation()
        found = mounted(controller)
        need(found, f"no cgroup controller {controller}")
        self.version, folder = found
        self.folder = os.path.join(folder, f"lambda-test-{os.getpid()}-{os.path.basename(case.scratch)}")
        try:
            if self.version == 2:
                name = {"blkio": "io"}.get(controller, controller)
                self._write(os.path.join(folder, "cgroup.subtree_control"), f"+{name}")
            os.makedirs(self.folder, exist_ok=True)
        except OSError as problem:
            need(False, f"no cgroup of our own: {problem}")
        case.addCleanup(self.remove)

    @staticmethod
    def _write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def set(self, name, text):
        try:
            self._write(os.path.join(self.folder, name), text)
        except OSError as problem:
            need(False, f"{name} cannot be set: {problem}")

    def launcher(self):
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh"]

    def remove(self):
        # What was started in it is being killed.
        deadline = time.monotonic() + 5
        while os.path.isdir(self.folder):
            try:
                os.rmdir(self.folder)
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)


def share_of_cpu(case, share):
    group = Cgroup(case, "cpu")
    quota = int(share * PERIOD_US)
    if group.version == 1:
        group.set("cpu.cfs_period_us", str(PERIOD_US))
        group.set("cpu.cfs_quota_us", str(quota))
    else:
        group.set("cpu.max", f"{quota} {PERIOD_US}")
    return group.launcher()


def rate_of_disk(case, folder, bytes_per_second, writing):
    """Of the device on which `folder` lies."""
    group = Cgroup(case, "blkio")
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    if group.version == 1:
        way = "write" if writing else "read"
        group.set(f"blkio.throttle.{way}_bps_device", f"{number} {bytes_per_second}")
    else:
        group.set("io.max", f"{number} {'wbps' if writing else 'rbps'}={bytes_per_second}")
    return group.launcher()
