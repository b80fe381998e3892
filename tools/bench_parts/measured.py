"""Our own transfers from memory to nothing, or to a file, and the table of what they took."""

import json
import os
import statistics
import subprocess
import tempfile

from bench_parts.free_memory import host_takes
from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.ours import summary
from bench_parts.place import make_random
from bench_parts.processes import Served, longest, timed
from bench_parts.server import Lambda
from bench_parts.table import shown, table

MEMORY = "/dev/shm"
COLUMNS = (("Gbit/s", "gbit_per_s", ".2f"), ("min", "least", ".2f"), ("max", "most", ".2f"),
           ("CPU s/GB of client", "cpu", ".3f"), ("of server", "server_cpu", ".3f"), ("peak MiB", "peak", ".0f"),
           ("of server", "server_peak", ".0f"), ("apart", "apart", "d"))


def memory_folder():
    """A folder in memory that goes at the end, unless the bench is killed by SIGKILL. It bears the bench's number."""
    return tempfile.TemporaryDirectory(prefix=f"lambda-bench-{os.getpid()}-", dir=MEMORY)


class Mover:
    """A server of ours with `source` of random bytes in its root, and transfers of it, private, to nothing and back.

    A run is a map: seconds, of the client's whole process; bytes; cpu, peak, server_cpu, server_peak; summary."""

    def __init__(self, arguments, folder, size, settings=(), client_host=LOOPBACK, server_host=LOOPBACK):
        self.folder, self.client_host, self.size = folder, client_host, size
        self.root = os.path.join(folder, "root")
        os.mkdir(self.root)
        self.source = make_random(os.path.join(self.root, "source"), size)
        options = ["--allow-null"]
        if settings:
            with open(os.path.join(folder, "server.yaml"), "w") as file:
                file.writelines(f"{name}: {value}\n" for name, value in dict(settings).items())
            options += ["--config", file.name]
        self.server = Lambda(folder, self.root, arguments, options, server_host)
        self.url = f"lambda://bench@{server_host.address}:{self.server.port}"
        self.environment = dict(os.environ, HOME=folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop()

    def command(self, verb, *words):
        return [self.server.client, verb, "--json", "--quiet", "--trust-new-host",
                "--password-file", self.server.password, "--cipher", "aes-128-gcm", *words]

    def put(self, *options):
        return self.run(self.command("put", *options, self.source, f"{self.url}/.null"), self.size)

    def get(self, *options):
        return self.run(self.command("get", *options, f"{self.url}/source", "/dev/null"), self.size)

    def zeros(self, verb, *options):
        """Of a trial, whose two ends read and write no file: the run that it makes, and what it asks before."""
        command = self.command("trial", "--legs", f"{verb}-memory-memory", "--repetitions", "1", "--size",
                               str(self.size), *options, f"{self.url}/")
        command.remove("--quiet")
        served = Served(self.server.server)
        done = timed(command, self.environment, longest(self.size), self.client_host)
        events = [json.loads(line) for line in done.pop("said").splitlines()]
        runs = [event["bytes"] for event in events if event["event"] == "run"]
        if runs != [self.size]:
            raise Failed(f"runs of {runs} bytes, where one of {self.size} was asked for")
        return done | {"bytes": self.size} | served.cost()

    def run(self, command, size, files=1):
        """One client, which must have moved so many bytes of so many files."""
        served = Served(self.server.server)
        done = timed(command, self.environment, longest(size), self.client_host)
        return done | moved(done.pop("said"), size, files) | served.cost()

    def check_identity(self, *options):
        """put and get of `source` into memory; what arrived is compared."""
        target = os.path.join(self.root, "arrived")
        for verb in ("put", "get"):
            self.move(verb, target, *options)
            same(self.source, target)
            os.unlink(target)

    def move(self, verb, target, *options):
        """To a file below the root, with either verb."""
        ends = [self.source, f"{self.url}/{os.path.relpath(target, self.root)}"] if verb == "put" else [
            f"{self.url}/source", target]
        return self.run(self.command(verb, *options, *ends), self.size)


def moved(said, size, files=1):
    """What a client's last word was: all bytes, each file's digests compared."""
    last = summary(said)
    if last["bytes"] != size or last["verified"] != files:
        raise Failed(f"{last['bytes']} bytes of {size}, {last['verified']} of {files} verified: {said[-1500:]}")
    return {"bytes": last["bytes"], "summary": last}


def same(source, target):
    if subprocess.run(["cmp", source, target]).returncode != 0:
        raise Failed(f"WRONG: {target} differs from its source")


def figures(runs):
    """Medians of some runs; of memory the most. CPU for each GB."""
    rates = [run["bytes"] * 8 / run["seconds"] / 1e9 for run in runs]
    one = {"gbit_per_s": statistics.median(rates), "least": min(rates), "most": max(rates), "rates": rates}
    for name in ("cpu", "server_cpu"):
        if name in runs[0]:
            one[name] = statistics.median(run[name] / (run["bytes"] / 1e9) for run in runs)
    for name in ("peak", "server_peak"):
        if name in runs[0]:
            one[name] = max(run[name] for run in runs)
    if apart := sum(run.get("apart", False) for run in runs):
        one["apart"] = apart
    return one


def print_figures(what, ways):
    """ways: name to figures(). Columns that no way fills are left out."""
    columns = [column for column in COLUMNS if any(column[1] in one for one in ways.values())]
    print(table([what, *(head for head, _, _ in columns)],
                [[name, *(shown(one.get(key), form) for _, key, form in columns)] for name, one in ways.items()]),
          flush=True)


def load():
    """What else the machine does, to be read beside the figures."""
    with open("/proc/loadavg") as file:
        said = f"{os.cpu_count()} processors, load {' '.join(file.read().split()[:2])} before"
    return said + ", free memory brought back from the host" * host_takes()
