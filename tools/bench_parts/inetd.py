"""Servers that take one connection each, as inetd starts them: so the machine counts what each of them spent."""

import contextlib
import os
import signal
import socket
import subprocess
import threading

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed

LONGEST_END_S = 60


class Inetd:
    """A process of `command` for each connection, one after the other, in a thread of its own."""

    def __init__(self, command, log):
        self.command, self.log = command, open(log, "wb")
        self.spent, self.process = {}, None
        self.served = threading.Event()
        self.listener = socket.create_server((LOOPBACK.address, 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.process = LOOPBACK.start(self.command, stdin=connection, stdout=connection, stderr=self.log)
            _, status, usage = os.wait4(self.process.pid, 0)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.spent = {"server_cpu": usage.ru_utime + usage.ru_stime, "server_peak": usage.ru_maxrss / 1024}
            self.served.set()

    def begin(self):
        """Before a run; cost() of what it gives, after it."""
        self.served.clear()
        return self

    def cost(self):
        if not self.served.wait(LONGEST_END_S):
            raise Failed(f"{self.command[0]} did not end with its client")
        return self.spent

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        if self.process and self.process.returncode is None:
            # Not by Popen.kill(), which would look for its end, too.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        self.thread.join()
        self.log.close()
