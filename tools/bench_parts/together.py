"""Transfers of ours and flows of the kernel's TCP on one path at the same time, from client to server.

All begin at once; what they had is measured from `warm` seconds on, over `seconds`. Transfers read one
file of random bytes, under as many names as the time needs, and the server throws it away (/.null).
"""

import json
import os

from bench_parts.lab import AROUND_S, Failed, once_more
from bench_parts.ours import Ours, summary
from bench_parts.place import make_random

TCP_PORT = 5201
FILE_BYTES = 512 << 20
LINK_BYTES_S = 125_000_000
# Goodput by bytes on the path: 1440 bytes of file in a packet of 1500, and 1448 of TCP's.
OURS_SHARE, TCP_SHARE = 1440 / 1500, 1448 / 1500


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values)) if any(values) else 0.0


class Endless:
    """A source that lasts, and the two programs."""

    def __init__(self, arguments, folder):
        self.ours, self.folder = Ours(arguments, folder), folder
        self.file = make_random(os.path.join(folder, "endless"), FILE_BYTES)
        self.links = 0

    def names(self, seconds):
        count = int(seconds * LINK_BYTES_S / FILE_BYTES) + 2
        while self.links < count:
            os.link(self.file, os.path.join(self.folder, f"endless-{self.links}"))
            self.links += 1
        return [os.path.join(self.folder, f"endless-{number}") for number in range(count)]

    def put(self, seconds, *options):
        """A line for the shell: a transfer that is told to stop after so many seconds."""
        # In the foreground: timeout would send the signal twice, and the second one kills.
        return (f"timeout --foreground --preserve-status -s TERM {seconds:g} "
                + self.ours.transfer("put", self.names(seconds), ".null/", *options))


class Together:
    """What shares a path. Add flows, then run()."""

    def __init__(self, lab, endless, path, seconds, warm):
        self.lab, self.endless, self.path, self.seconds, self.warm = lab, endless, path, seconds, warm
        self.lines, self.servers = [], []
        self.transfers, self.tcps = [], []

    def transfer(self, *options):
        if not self.transfers:
            self.servers.append(self.endless.ours.server("--allow-null"))
        name = f"transfer{len(self.transfers)}"
        self.transfers.append(name)
        self.lines.append(self.endless.put(self.warm + self.seconds, *options) + f" >$LAB_LOGS/{name}")
        return self

    def tcp(self, congestion, connections):
        name, port = f"tcp{len(self.tcps)}", TCP_PORT + len(self.tcps)
        self.tcps.append(name)
        self.servers.append((f"iperf3 -s -p {port}", f":{port}"))
        self.lines.append(f"iperf3 -c $LAB_HOST_server -p {port} -C {congestion} -P {connections} -O {self.warm:g} "
                          f"-t {self.seconds:g} -J >$LAB_LOGS/{name}")
        return self

    def run(self):
        return once_more(self.one_run)

    def one_run(self):
        """A map: tcp: Mbit/s of each tcp(); ours: of all transfers together, as what of the path's bytes
        was not TCP's; summaries: of the transfers; queue_ms; strained."""
        run = self.lab.run(self.path, "".join(f"{line} & " for line in self.lines) + "wait", self.servers,
                           self.warm + self.seconds + AROUND_S)
        tcp = [self.received(name) for name in self.tcps]
        for name in self.transfers:
            self.lasted(name)
        # A second at either end, since the flows do not begin at the very same time.
        passed = run.mbit("forward", self.warm + 1, self.warm + self.seconds - 1)
        ours = max(passed - sum(tcp) / TCP_SHARE, 0.0) * OURS_SHARE if self.transfers else 0.0
        return {"tcp": tcp, "ours": ours, "summaries": [summary(self.written(name)) for name in self.transfers],
                "queue_ms": run.counters["forward"]["queue_mean_ms"], "strained": run.strained}

    def lasted(self, name):
        """A transfer that ended by itself before it was told to is no figure."""
        said = self.written(name)
        if (ran := summary(said)["seconds"]) < self.warm + self.seconds - 1:
            raise Failed(f"the transfer ended after {ran:.1f} s: {said[-1500:]}")

    def received(self, name):
        said = json.loads(self.written(name))
        if "error" in said:
            raise Failed(f"iperf3: {said['error']}")
        return said["end"]["sum_received"]["bits_per_second"] / 1e6

    def written(self, name):
        with open(os.path.join(self.lab.logs, name)) as file:
            return file.read()
