"""A tree of small files from disk to disk over loopback, put and get, beside the rsync daemon; with --rtt
ours also through lambda-lab at 1 Gbit/s.

  ours           encrypted, digests verified, each file durable under its name when the client ends
  rsync-archive  `rsync --archive`, as everybody types it; neither encrypted nor durable
  rsync          with --whole-file --inplace besides, which is the fastest that it goes
  rsync-syncfs   the same, and then `sync -f` of the target, within the time: durable when that ends
  rsync-fsync    with its own --fsync: each file is flushed before it counts; its name is not

Files a second by the wall clock of the client's whole process (with --rtt also of the transfer alone: from the
first data packet to the last byte durable). All of a round follow each other; the first round warms up and does
not count. Sources are in the page cache, targets on a new ext4 in a file on the disk under --folder; each run
makes a target of its own, which is removed, and what is left to be written is flushed, before the next begins. Each copy is compared
with its source by names, sizes, modes, times and content. Needs root.
"""

import contextlib
import functools
import itertools
import os
import shutil
import statistics
import subprocess

from bench_parts.ext4 import Ext4
from bench_parts.lab import Failed, Lab, Path, missing
from bench_parts.ours import Ours, summary
from bench_parts.path import VERBS, milliseconds, one_of, several
from bench_parts.place import Folder
from bench_parts.processes import Served, longest, timed
from bench_parts.rsync import Rsync
from bench_parts.server import Lambda
from bench_parts.rounds import in_turn
from bench_parts.table import shown, table
from bench_parts.verdict import Verdicts, natural, positive, small_bench

PEERS = ("ours", "rsync-archive", "rsync", "rsync-syncfs", "rsync-fsync")
FILE_COST = 100_000  # what a file may cost besides its bytes, as bytes
DISK_GIB = 70  # sparse: room for the inodes of some million files
COLUMNS = (("files/s", "rate", ".0f"), ("s", "seconds", ".3f"), ("min", "least", ".3f"), ("max", "most", ".3f"),
           ("transfer s", "transfer", ".3f"), ("CPU s", "cpu", ".2f"), ("of server", "server_cpu", ".2f"),
           ("peak MiB", "peak", ".0f"), ("of server", "server_peak", ".0f"))


def main(words):
    parser = small_bench("small", __doc__)
    parser.add_argument("--files", type=positive, default=10_000)
    parser.add_argument("--size", type=natural, default=10 << 10, metavar="BYTES", help="of each file; default: 10 KiB")
    parser.add_argument("--in-directory", type=positive, default=100, metavar="N", help="files in each directory")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--verbs", type=several(one_of(VERBS)), default="put,get")
    parser.add_argument("--peers", type=several(one_of(PEERS)), default=",".join(PEERS))
    parser.add_argument("--rtt", type=milliseconds, help="ours through a path of so many ms, beside loopback")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    if reason := Ext4.missing() or arguments.rtt and missing():
        verdicts.skipped("small", reason)
        verdicts.end()
    try:
        with Folder(arguments) as folder, Ext4(folder, DISK_GIB) as disk:
            summarise(arguments, Bench(arguments, disk, verdicts).all_runs(), verdicts)
    except Failed as problem:
        verdicts.failed("small", problem)
    verdicts.end()


class Bench:
    def __init__(self, arguments, folder, verdicts):
        self.arguments, self.folder, self.verdicts = arguments, folder, verdicts
        self.root = os.path.join(folder, "root")
        self.tree = os.path.join(self.root, "tree")
        self.numbers = itertools.count()
        os.makedirs(self.root)
        make_tree(self.tree, arguments)

    def all_runs(self):
        """By verb, by peer: the runs of each round but the first."""
        with contextlib.ExitStack() as stack:
            peers = list(self.peers(stack))
            ways = {f"{verb} {peer.name}": functools.partial(self.one_run, peer, verb)
                    for verb in self.arguments.verbs for peer in peers}
            runs = in_turn("small", ways, self.arguments.rounds + 1, self.verdicts)
        return {verb: {peer.name: done[1:] for peer in peers if (done := runs.get(f"{verb} {peer.name}"))}
                for verb in self.arguments.verbs}

    def peers(self, stack):
        for name in self.arguments.peers:
            if name == "ours":
                peer = OnLoopback(self.arguments, self.folder, self.root)
            elif Rsync.missing:
                self.verdicts.skipped(name, f"not installed: {Rsync.missing}")
                continue
            else:
                peer = BesideRsync(name, self.arguments, self.folder, self.root)
            stack.callback(peer.stop)
            yield peer
        if self.arguments.rtt:
            yield OnPath(self.arguments, self.folder, self.root)

    def one_run(self, peer, verb):
        name = f"target-{next(self.numbers)}-{peer.name}-{verb}"
        target = os.path.join(self.root if verb == "put" else self.folder, name)
        try:
            run = peer.run(verb, self.tree if verb == "put" else "tree", name if verb == "put" else target)
            os.sync()
            compare(self.tree, target)
            return run
        finally:
            shutil.rmtree(target, ignore_errors=True)
            os.sync()


class OnLoopback:
    name = "ours"

    def __init__(self, arguments, folder, root):
        self.home = os.path.join(folder, "loopback")
        os.mkdir(self.home)
        self.lambda_ = Lambda(self.home, root, arguments)
        self.options = ["--stripes", str(arguments.stripes), "--json", "--quiet", "--trust-new-host",
                        "--password-file", self.lambda_.password]
        self.longest = longest_tree(arguments)

    def run(self, verb, source, target):
        def far(name):
            return f"lambda://bench@127.0.0.1:{self.lambda_.port}/{name}"
        ends = [source + "/", far(target)] if verb == "put" else [far(source) + "/", target]
        served = Served(self.lambda_.server)
        run = timed([self.lambda_.client, verb, *self.options, *ends],
                    dict(os.environ, HOME=self.home), self.longest)
        return run | {"transfer": summary(run.pop("said"))["transfer_seconds"]} | served.cost()

    def stop(self):
        self.lambda_.stop()


class BesideRsync:
    def __init__(self, name, arguments, folder, root):
        self.name, self.longest = name, longest_tree(arguments)
        self.home = os.path.join(folder, name)
        os.mkdir(self.home)
        self.rsync, self.root = Rsync(self.home, root), root
        self.options = {"rsync-archive": ["--no-inplace", "--no-whole-file"], "rsync-fsync": ["--fsync"]}.get(name, [])

    def run(self, verb, source, target):
        command = self.rsync.command(verb, source + "/", target + "/", *self.options)
        where = os.path.join(self.root, target) if verb == "put" else target
        served = self.rsync.begin()
        run = timed(command, os.environ, self.longest, flushed=where if self.name == "rsync-syncfs" else None)
        run.pop("said")
        return run | served.cost()

    def stop(self):
        self.rsync.stop()


class OnPath:
    """Through the lab. What the ends spent is not counted: the lab starts them."""

    def __init__(self, arguments, folder, root):
        self.name = f"ours-{arguments.rtt:g}ms"
        self.ours = Ours(arguments, folder)
        self.ours.root = root
        self.lab, self.path = Lab(arguments, folder), Path(arguments.rtt)
        self.options = ["--stripes", str(arguments.stripes), "--quiet"]
        self.longest = longest_tree(arguments)

    def run(self, verb, source, target):
        done = self.lab.run(self.path, self.ours.transfer(verb, [source + "/"], target, *self.options),
                            [self.ours.server()], self.longest)
        said = summary(done.stdout)
        return {"seconds": said["seconds"], "transfer": said["transfer_seconds"], "strained": done.strained}


def longest_tree(arguments):
    return longest(arguments.files * (arguments.size + FILE_COST))


def make_tree(top, arguments):
    """Files of random bytes, each of its own, in directories."""
    for number in range(arguments.files):
        directory = os.path.join(top, f"directory-{number // arguments.in_directory:06d}")
        if number % arguments.in_directory == 0:
            os.makedirs(directory)
        with open(os.path.join(directory, f"file-{number:09d}.data"), "wb") as file:
            file.write(os.urandom(arguments.size))
    os.sync()


def entries(top):
    """Of each file below: name, size, mode, time."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            found[os.path.relpath(path, top)] = (status.st_size, status.st_mode, status.st_mtime_ns)
    return found


def compare(source, target):
    theirs, ours = entries(source), entries(target)
    if theirs != ours:
        wrong = sorted(name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name))
        raise Failed(f"WRONG: {len(wrong)} of {len(theirs)} files differ, the first is {wrong[0]}")
    if any(size for size, _, _ in theirs.values()):
        different = subprocess.run(["diff", "-rq", source, target], capture_output=True, text=True)
        if different.returncode != 0:
            raise Failed(f"WRONG: {different.stdout[-500:]}{different.stderr[-500:]}")


def summarise(arguments, runs, verdicts):
    print(f"{arguments.files} files of {arguments.size} bytes, {arguments.in_directory} in a directory; "
          f"{arguments.rounds} rounds, {os.cpu_count()} processors\n")
    for verb, by_peer in runs.items():
        ways = {peer: figures(arguments, done) for peer, done in by_peer.items()}
        print(table([verb, *(head for head, _, _ in COLUMNS)],
                    [[peer, *(shown(one.get(what), form) for _, what, form in COLUMNS)] for peer, one in ways.items()]))
        for peer, one in ways.items():
            verdicts.note(f"{verb}: {peer}", files=arguments.files, size=arguments.size, **one)
        for label, ratio in ratios(ways):
            print(f"\n{verb}: files a second of {label}: {ratio:.2f}", end="")
            verdicts.note(f"{verb}: {label}", value=ratio)
        print("\n", flush=True)


def ratios(ways):
    """Ours by each peer, and each way of ours by that over loopback."""
    for peer, one in ways.items():
        if peer != "ours" and "ours" in ways:
            first, second = (one, ways["ours"]) if peer.startswith("ours") else (ways["ours"], one)
            label = f"{peer} / ours" if peer.startswith("ours") else f"ours / {peer}"
            yield label, first["rate"] / second["rate"]
            if first.get("transfer") and second.get("transfer"):
                yield label + ", transfer alone", second["transfer"] / first["transfer"]


def figures(arguments, done):
    """Medians; of memory the most."""
    def median(what):
        values = [run[what] for run in done if what in run]
        return statistics.median(values) if values else None
    seconds = [run["seconds"] for run in done]
    one = {what: median(what) for what in ("seconds", "transfer", "cpu", "server_cpu")}
    one |= {what: max((run[what] for run in done if what in run), default=None) for what in ("peak", "server_peak")}
    return one | {"rate": arguments.files / one["seconds"], "least": min(seconds), "most": max(seconds),
                  "strained": any(run.get("strained") for run in done), "runs": done}
