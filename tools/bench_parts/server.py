"""A lambda-ftpd of our own, on this machine."""

import os
import re
import subprocess
import time

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.processes import DEADLINE_S, stop


class Lambda:
    """Of the root, with its password and state in `folder`; it listens once it is made."""

    def __init__(self, folder, root, arguments, options=(), host=LOOPBACK):
        self.programs = os.path.abspath(arguments.bin)
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("only for this run\n")
        state = os.path.join(folder, "state")
        self.log = open(os.path.join(folder, "server.log"), "w+b")
        self.server = host.start(
            [os.path.join(self.programs, "lambda-ftpd"), "--root", root, "--listen", f"{host.address}:0", "--user",
             "bench", "--password-file", self.password, "--state", state, *options], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        try:
            self.port = self.wait_for_port()
        except BaseException:
            self.stop()
            raise

    def wait_for_port(self):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and self.server.poll() is None:
            with open(self.log.name, "rb") as log:
                if found := re.search(rb"^listening on .*:(\d+)$", log.read(), re.M):
                    return int(found.group(1))
            time.sleep(0.01)
        with open(self.log.name) as log:
            raise Failed(f"lambda-ftpd does not listen: {log.read()[-2000:]}")

    def stop(self):
        stop(self.server)
        self.log.close()
