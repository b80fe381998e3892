"""Several transfers at once on one server over loopback, from memory to nothing, private: what they move together, how
they share it, and what the server keeps for them.

Each count of transfers (--counts) moves the same bytes altogether, each client its part: put of files of random bytes
in memory to /.null, get of zeros (/.zero). What all moved is divided by the time from the first client's start to the
last one's end, logins and all; of each client the rate of its whole process counts for Jain's index. The server's peak
resident memory is beside its setting `memory`, which holds the rings of all running transfers together; what a process
and its connections take besides is in the peak, too. The first round does not count. Each client says how much it moved
and that the digests of both ends agreed; before all, put and get of a file are compared by cmp.
"""

import functools
import os
import statistics
import subprocess
import tempfile
import time

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.measured import Mover, figures, load, memory_folder, moved
from bench_parts.path import VERBS, one_of, several, size
from bench_parts.processes import Served, ends, longest, stop
from bench_parts.rounds import WANTED, in_turn
from bench_parts.table import table
from bench_parts.together import jain
from bench_parts.verdict import Verdicts, positive, small_bench

MIB = 1 << 20
BOTH_ENDS = 48 * MIB  # at most, of each of many transfers
DEFAULT_RING = 176 * MIB  # transfer_memory, which `memory` may not be below
# All clients have one address, and each stripe is a connection.
SESSIONS = {"sessions_max": 8192, "sessions_per_address": 8192}


def main(words):
    parser = small_bench("transfers", __doc__)
    parser.add_argument("--counts", type=several(positive), default="1,8,64", help="of transfers at once")
    parser.add_argument("--size", type=size, default="32GiB",
                        help="of what all transfers move together (32GiB; of 8 GiB the start of 64 is a quarter)")
    parser.add_argument("--verbs", type=several(one_of(VERBS)), default="put,get")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--memory", type=size, default="1GiB", help="the server's setting (1GiB, its default)")
    arguments = parser.parse_args(words)
    most = max(arguments.counts)
    if arguments.size % most or any(most % count for count in arguments.counts):
        parser.error("the largest of --counts must be a multiple of all others, and --size one of it")
    verdicts = Verdicts(arguments.json)
    print(f"{arguments.size / 1e9:.3f} GB together, {arguments.stripes} stripes each, {arguments.rounds} rounds, "
          f"{load()}")
    try:
        with memory_folder() as folder:
            judge(arguments, Bench(arguments, folder).all_runs(verdicts), verdicts)
    except Failed as problem:
        verdicts.failed("transfers", problem)
    verdicts.end()


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        # Of one part, which the smallest transfer moves once and the others several times, by further names.
        self.part = arguments.size // max(arguments.counts)
        settings = {"memory": arguments.memory, "transfer_memory": min(arguments.memory, DEFAULT_RING),
                    "transfers_max": max(arguments.counts)}
        self.mover = Mover(arguments, folder, self.part, settings | SESSIONS)
        self.names = [self.link(number) for number in range(max(arguments.counts) // min(arguments.counts))]

    def link(self, number):
        name = os.path.join(self.folder, f"part-{number}")
        os.link(self.mover.source, name)
        return name

    def all_runs(self, verdicts):
        """By (verb, count): the runs of each round but the first."""
        arguments = self.arguments
        ways = {(verb, count): functools.partial(self.at_once, verb, count)
                for verb in arguments.verbs for count in arguments.counts}
        with self.mover:
            self.mover.check_identity("--stripes", str(arguments.stripes))
            runs = in_turn("transfers", ways, arguments.rounds + 1, verdicts,
                           wanted=max(WANTED, max(arguments.counts) * BOTH_ENDS))
        return {case: done[1:] for case, done in runs.items()}

    def at_once(self, verb, count):
        """`count` clients: the time of all, the seconds of each, CPU of all and of the server, its peak."""
        each = self.arguments.size // count
        if verb == "put":
            files = each // self.part
            ends = [*self.names[:files], f"{self.mover.url}/.null" + ("/" if files > 1 else "")]
        else:
            files, ends = 1, [f"{self.mover.url}/.zero/{each}", "/dev/null"]
        command = self.mover.command(verb, "--stripes", str(self.arguments.stripes), *ends)
        served = Served(self.mover.server.server)
        began = time.perf_counter()
        clients = [Client(command, self.mover.environment) for _ in range(count)]
        try:
            for client in clients:
                client.wait(longest(self.arguments.size))
            seconds = time.perf_counter() - began
            done = [moved(client.said(), each, files) for client in clients]
        finally:
            for client in clients:
                client.end()
        return {"seconds": seconds, "bytes": self.arguments.size,
                "rates": [each / one["summary"]["seconds"] for one in done]} | served.cost()


class Client:
    def __init__(self, command, environment):
        self.out = tempfile.TemporaryFile()
        self.process = LOOPBACK.start(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.out,
                                      env=environment)

    def wait(self, seconds):
        if not ends(self.process.pid, seconds):
            raise Failed(f"not within {seconds:g} s: {self.process.args}")
        if code := self.process.wait():
            raise Failed(f"ended with {code}: {self.process.args}\n{self.said()[-2000:]}")

    def said(self):
        self.out.seek(0)
        return self.out.read().decode(errors="replace")

    def end(self):
        stop(self.process)
        self.out.close()


def judge(arguments, runs, verdicts):
    rows, sums = [], {}
    for (verb, count), done in runs.items():
        one = figures(done) | {"jain": statistics.median(jain(run["rates"]) for run in done)}
        sums[verb, count] = one["gbit_per_s"]
        rows.append([verb, str(count), *(format(one[name], ".2f") for name in ("gbit_per_s", "least", "most")),
                     f"{one['jain']:.3f}", f"{one['server_cpu']:.3f}", f"{one['server_peak']:.0f}"])
        verdicts.note(f"{verb}, {count}", size=arguments.size, **one)
    print(table(["", "at once", "Gbit/s together", "min", "max", "Jain", "CPU s/GB of server", "its peak MiB"], rows),
          flush=True)
    for (verb, count), done in runs.items():
        peak = max(run["server_peak"] for run in done)
        verdicts.add(f"{verb}, {count} at once: the server's peak by its setting", peak / (arguments.memory / MIB),
                     most=1, peak_mib=peak, memory_mib=arguments.memory // MIB)
        if count > 1:
            verdicts.add(f"{verb}, {count} at once: Jain's index", statistics.median(jain(run["rates"]) for run in done),
                         least=0.95)
        if count > 1 and (verb, 1) in sums:
            verdicts.add(f"{verb}, {count} at once: the sum by one", sums[verb, count] / sums[verb, 1], least=0.85)
