"""What moves bytes over a path in the matrix: we, and those we are compared with.

Each peer has a name and run(lab, cell, verb), which gives a map: `mbit`, the goodput of file bytes;
`setup_s`, the time before the data, not counted in it (None: not known); `commands`, both ends' lines.
"""

import json
import os
import re
import shutil
import subprocess
import threading
import time

from bench_parts.lab import AROUND_S, Failed, shell
from bench_parts.ours import Ours, summary
from bench_parts.place import make_random, program

IPERF_PORT, GLOBUS_PORT, UDT_PORT = 5201, 2812, 9000
LINK_BYTES_S = 125_000_000
SLOWEST_S = 300  # for us: the whole file, however long it takes


class Transfer:
    """Ours: 4 stripes, private protection, the default law."""

    def __init__(self, arguments, files):
        self.name, self.files = "ours", files
        self.ours = Ours(arguments, files.folder)
        self.options = ["--stripes", str(arguments.stripes)]
        if arguments.law:
            self.options += ["--congestion", arguments.law]

    def run(self, lab, path, verb):
        if verb == "put":
            source, target = self.files.source, "target"
            result = os.path.join(self.ours.root, target)
        else:
            source, target = "source", os.path.join(self.files.folder, "target")
            result = target
            if not os.path.exists(os.path.join(self.ours.root, source)):
                os.link(self.files.source, os.path.join(self.ours.root, source))
        server, main = self.ours.server(), self.ours.transfer(verb, [source], target, *self.options)
        with self.files.fresh(result):
            run = lab.run(path, main, [server], SLOWEST_S)
            if subprocess.run(["cmp", self.files.source, result]).returncode != 0:
                raise Failed(f"WRONG: {result} differs from its source")
        said = summary(run.stdout)
        return run, {"mbit": said["transfer_gbit_per_s"] * 1e3, "setup_s": said["seconds"] - said["transfer_seconds"],
                     "sent_packets": said["sent_packets"], "lost_packets": said["lost_packets"],
                     "stripes": said["stripes"], "commands": [server[0], main]}


class Iperf:
    """The kernel's TCP, from memory to memory: what the receiver got in the whole time, slow start
    included. Buffers grow by themselves up to the limits of the namespace."""

    def __init__(self, arguments, congestion, connections):
        self.name, self.congestion, self.connections = f"{congestion}{connections}", congestion, connections
        self.seconds = arguments.seconds
        self.program = program("iperf3", arguments)
        self.missing = None if self.program else "iperf3"

    def run(self, lab, path, verb):
        path.congestion = self.congestion
        main = shell(["iperf3", "-c", "$LAB_HOST_server", "-t", f"{self.seconds:g}", "-P", str(self.connections), "-J"]
                     + (["-R"] if verb == "get" else []))
        server = "iperf3 -s"
        run = lab.run(path, main, [(server, f":{IPERF_PORT}")], self.seconds + AROUND_S)
        received = json.loads(run.stdout)["end"]["sum_received"]
        return run, {"mbit": received["bits_per_second"] / 1e6, "setup_s": None, "commands": [server, main]}


class Globus:
    """globus-url-copy over 8 connections, unencrypted, from disk to disk; killed when the time is over,
    and what has arrived then counts. Its time begins with the first byte in the target."""

    # -tcp-bs; 0: the kernel's own tuning. Found best at 100 ms; 4 MiB is also the kernel's usual limit.
    BUFFERS = {"cubic": 0, "bbr": 4 << 20}

    def __init__(self, arguments, congestion, files):
        self.name, self.congestion, self.files = f"globus-{congestion}", congestion, files
        self.seconds = arguments.seconds
        self.buffer = self.BUFFERS[congestion] if arguments.globus_buffer is None else arguments.globus_buffer
        self.missing = next((name for name in ("globus-url-copy", "globus-gridftp-server")
                             if not program(name, arguments)), None)

    def run(self, lab, path, verb):
        path.congestion = self.congestion
        result = os.path.join(self.files.open_folder, "target")
        local, remote = f"file://{{}}", "ftp://$LAB_HOST_server:" + f"{GLOBUS_PORT}{{}}"
        ends = (local, remote) if verb == "put" else (remote, local)
        buffer = ["-tcp-bs", str(self.buffer)] if self.buffer else []
        main = shell(["timeout", "-s", "KILL", f"{self.seconds + 5:g}", "globus-url-copy", "-q", "-p", "8", *buffer,
                      ends[0].format(self.files.source), ends[1].format(result)])
        server = shell(["globus-gridftp-server", "-aa", "-p", str(GLOBUS_PORT), "-data-interface", "$LAB_HOST_server",
                        "-anonymous-user", "nobody", "-anonymous-group", "nogroup", "-c", "/dev/null"])
        with self.files.fresh(result):
            with Watch(result, self.seconds, os.path.getsize(self.files.source)) as watch:
                # Killed by its own timeout: the watch has its figures by then.
                run = lab.run(path, main, [(server, f":{GLOBUS_PORT}")], self.seconds + AROUND_S, codes=(0, 137))
            if not watch.first:
                raise Failed(f"nothing arrived: {lab.said(run.stdout, run.stderr)}")
            if run.code == 0 and subprocess.run(["cmp", self.files.source, result]).returncode != 0:
                raise Failed(f"WRONG: {result} differs from its source")
        return run, {"mbit": watch.bytes * 8 / watch.seconds / 1e6, "setup_s": None, "commands": [server, main]}


class Watch:
    """How fast a file grows on the disk, from its first byte on, for `seconds` or until it is whole."""

    STEP_S = 0.01

    def __init__(self, file, seconds, size):
        self.file, self.limit, self.size = file, seconds, size
        self.first, self.seconds, self.bytes = None, 0.0, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.ended.wait(self.STEP_S):
            try:
                have = min(os.stat(self.file).st_blocks * 512, self.size)
            except FileNotFoundError:
                continue
            if have == 0:
                continue
            now = time.monotonic()
            self.first = self.first or now
            self.seconds, self.bytes = max(now - self.first, self.STEP_S), have
            if have == self.size or self.seconds >= self.limit:
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


class Udt:
    """UDT 4 from memory to memory, by a program of ours: tools/peers/udt_transfer.cpp."""

    def __init__(self, arguments):
        self.name, self.seconds, self.size = "udt", arguments.seconds, arguments.size
        self.program = program(os.path.join("..", "peers", "udt-transfer"), arguments)
        self.missing = None if self.program else "udt-transfer (it is built where libudt-dev is installed)"

    def run(self, lab, path, verb):
        buffer = str(max(int(4 * LINK_BYTES_S * path.rtt / 1e3), 16 << 20))
        server = shell([self.program, "serve", str(UDT_PORT), buffer])
        main = shell([self.program, verb, "$LAB_HOST_server", str(UDT_PORT), buffer, str(self.size),
                      f"{self.seconds:g}"])
        run = lab.run(path, main, [(server, "ready")], self.seconds + AROUND_S)
        found = re.search(r"(\d+) bytes in ([\d.]+) s", run.stdout)
        if not found:
            raise Failed(f"no result: {lab.said(run.stdout, run.stderr)}")
        return run, {"mbit": int(found[1]) * 8 / float(found[2]) / 1e6, "setup_s": None, "commands": [server, main]}


class Files:
    """One source, warm in the page cache, and its targets."""

    def __init__(self, folder, size):
        self.folder = folder
        self.open_folder = os.path.join(folder, "open")
        os.makedirs(self.open_folder, exist_ok=True)
        # globus-gridftp-server refuses to serve as root.
        shutil.chown(self.open_folder, "nobody")
        self.source = make_random(os.path.join(folder, "source"), size)

    def fresh(self, result):
        return Fresh(result)


class Fresh:
    """A result that is not there before nor after, and a disk at rest before."""

    def __init__(self, result):
        self.result = result

    def __enter__(self):
        self.clear()
        os.sync()

    def __exit__(self, *_):
        self.clear()

    def clear(self):
        if os.path.exists(self.result):
            os.unlink(self.result)


PEERS = ("ours", "cubic1", "cubic8", "bbr1", "bbr8", "globus-cubic", "globus-bbr", "udt")


def make_peers(arguments, files):
    """Those of arguments.peers that this machine has, and the names of what is missing for the rest."""
    made = {"ours": lambda: Transfer(arguments, files), "udt": lambda: Udt(arguments)}
    for congestion in ("cubic", "bbr"):
        made[f"globus-{congestion}"] = lambda c=congestion: Globus(arguments, c, files)
        for connections in (1, 8):
            made[f"{congestion}{connections}"] = lambda c=congestion, n=connections: Iperf(arguments, c, n)
    peers = [made[name]() for name in arguments.peers]
    missing = {peer.name: peer.missing for peer in peers if getattr(peer, "missing", None)}
    return [peer for peer in peers if peer.name not in missing], missing
