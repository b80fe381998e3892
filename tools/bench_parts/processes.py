"""Processes that are timed, and what servers spend beside them."""

import functools
import os
import re
import select
import signal
import subprocess
import tempfile
import time

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed

TICKS = os.sysconf("SC_CLK_TCK")
DEADLINE_S = 20.0
# Whoever takes longer than this hangs.
LONGEST_AROUND_S, SLOWEST_BYTES_S = 60.0, 10e6


def longest(size):
    """The seconds that a run may take which moves so many bytes."""
    return LONGEST_AROUND_S + size / SLOWEST_BYTES_S


def timed(command, environment, seconds, host=LOOPBACK, flushed=None):
    """Runs it to its end, and until nothing of the file system of `flushed` is left to be written: wall clock, CPU, peak
    memory, and what it said. Either may take so many seconds."""
    began = time.perf_counter()
    done = run_to_end(command, environment, seconds, host)
    if flushed:
        sync = run_to_end(["sync", "-f", flushed], environment, seconds, host)
        done["cpu"] += sync["cpu"]
    return {"seconds": time.perf_counter() - began} | done


def run_to_end(command, environment, seconds, host=LOOPBACK):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        client = launch(command, host, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=environment)
        try:
            if not ends(client, seconds):
                raise Failed(f"not within {seconds:g} s: {command}")
        except BaseException:
            os.kill(client, signal.SIGKILL)
            reap(client)
            raise
        code, cpu, peak = reap(client)
        out.seek(0)
        said = out.read().decode(errors="replace")
        if code != 0:
            errors.seek(0)
            raise Failed(f"ended with {code}: {command}\n{said[-2000:]}"
                         f"{errors.read().decode(errors='replace')[-2000:]}")
    return {"cpu": cpu, "peak": peak, "said": said}


@functools.cache
def program(name):
    """One of those that stand beside this (NAME.c), built when it is first wanted, in a file without a name: nothing is left,
    however the bench ends."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.c")
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, name)
        LOOPBACK.run("cc", "-O2", "-pthread", "-Wall", "-Werror", "-o", made, source)
        descriptor = os.memfd_create(name)
        with open(made, "rb") as built, open(descriptor, "wb", closefd=False) as memory:
            memory.write(built.read())
    return f"/proc/{os.getpid()}/fd/{descriptor}"


def launch(command, host=LOOPBACK, **how):
    """The number of a process whose peak of memory is its own; it ends with the bench, however that ends."""
    descriptor, written = os.pipe()
    with open(descriptor) as told:
        try:
            starter = host.start([program("launch"), str(written), *command], pass_fds=[written], **how)
        finally:
            os.close(written)
        starter.wait()
        return int(told.read())


def reap(pid):
    """How it ended, its CPU seconds, and its peak of memory in MiB."""
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ends(pid, seconds):
    """Whether a child of ours does within this time; how it did is left to be asked."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


class Served:
    """What a run cost the server beside its client."""

    def __init__(self, server):
        self.pid = server.pid
        begin_peak(self.pid)
        self.cpu = cpu_seconds(self.pid)

    def cost(self):
        return {"server_cpu": cpu_seconds(self.pid) - self.cpu, "server_peak": peak_mib(self.pid)}


def begin_peak(pid):
    """Its peak of memory begins anew."""
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"^VmHWM:\s+(\d+)", file.read(), re.M).group(1)) / 1024


def cpu_seconds(pid):
    """All threads' user and system time so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait_for_port(process, host, port, log):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        if host.answers(port):
            return
        time.sleep(0.01)
    stop(process)
    with open(log) as file:
        raise Failed(f"{process.args[0]} does not listen: {file.read()[-2000:]}")


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
