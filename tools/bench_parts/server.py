"""A lambda-ftpd of our own, on this machine."""

import os
import re
import subprocess
import time

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.place import own
from bench_parts.processes import DEADLINE_S, stop


class Lambda:
    """Of the root, with its password and state in `folder`; it listens once it is made."""

    def __init__(self, folder, root, arguments, options=(), host=LOOPBACK):
        self.client = own("lambda-ftp", arguments)
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("only for this run\n")
        state = os.path.join(folder, "state")
        self.log = open(os.path.join(folder, "server.log"), "w+b")
        self.server = host.start(
            [own("lambda-ftpd", arguments), "--root", root, "--listen", f"{host.address}:0", "--user",
             "bench", "--password-file", self.password, "--state", state, *options], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        try:
            self.port = port_of(self.server, self.log.name, DEADLINE_S)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        stop(self.server)
        self.log.close()


def port_of(server, log, seconds):
    """Where a lambda-ftpd listens, once it says so in its log."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        with open(log, "rb") as file:
            if found := re.search(rb"^listening on .*:(\d+)$", file.read(), re.M):
                return int(found.group(1))
        time.sleep(0.01)
    with open(log, errors="replace") as file:
        raise Failed(f"lambda-ftpd does not listen: {file.read()[-2000:]}")
