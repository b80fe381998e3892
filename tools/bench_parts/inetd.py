"""Servers that take one connection each, as inetd starts them: so the machine counts what each of them spent."""

import contextlib
import os
import signal
import socket
import threading

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.processes import launch, reap

LONGEST_END_S = 60


class Inetd:
    """A process of `command` for each connection, one after the other, in a thread of its own."""

    def __init__(self, command, log):
        self.command, self.log = command, open(log, "wb")
        self.spent, self.process = {}, None  # the number of the one that serves
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
                self.process = launch(self.command, stdin=connection, stdout=connection, stderr=self.log)
            _, cpu, peak = reap(self.process)
            self.process = None
            self.spent = {"server_cpu": cpu, "server_peak": peak}
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
        if process := self.process:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.thread.join()
        self.log.close()
