"""We and our peers in turn, round after round, and what we must be beside them."""

import contextlib
import functools
import os
import statistics

from bench_parts.lab import Failed
from bench_parts.loopback_peers import NOTHING
from bench_parts.measured import figures, print_figures, same
from bench_parts.rounds import WANTED, in_turn

MOST_PEAK_MIB = 320


class SideBySide:
    """movers: as loopback_peers tells. `before`: what is done before each run, out of its time."""

    def __init__(self, part, movers, source, target, verdicts, durable=False, before=lambda: None):
        self.part, self.source, self.target, self.verdicts = part, source, target, verdicts
        self.durable, self.before = durable, before
        self.ways = {f"{mover.name} {verb}": functools.partial(self.one_run, mover, verb)
                     for mover in movers for verb in mover.verbs}

    def check(self):
        """Each brings `source` to `target` once, which warms up; what arrived is compared."""
        checks = {name: functools.partial(run, self.target, compared=True) for name, run in self.ways.items()}
        good = in_turn(self.part, checks, 1, self.verdicts, measured=False)
        self.ways = {name: self.ways[name] for name in good}

    def rounds(self, count, target=None, besides=(), wanted=WANTED):
        """By name and verb: its runs. besides: name to what else is run. `wanted`: as in_turn() has it."""
        ways = {name: functools.partial(run, target or self.target) for name, run in self.ways.items()}
        return in_turn(self.part, ways | dict(besides), count, self.verdicts, wanted=wanted)

    def one_run(self, mover, verb, target, compared=False):
        self.before()
        try:
            run = mover.run(verb, target, self.durable)
            if compared:
                same(self.source, target)
            elif target != NOTHING and (arrived := size_of(target)) != run["bytes"]:
                raise Failed(f"WRONG: {arrived} of {run['bytes']} bytes arrived at {target}")
            return run
        finally:
            if target != NOTHING:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(target)


def size_of(path):
    """0, where there is no such file."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_size
    return 0


class Judge:
    """Prints what the runs of one part took, and holds ours, those that did not fail, against the peers' medians."""

    def __init__(self, part, runs, verdicts):
        self.part, self.runs, self.verdicts = part, runs, verdicts
        self.ways = {name: figures(done) for name, done in runs.items()}
        self.verbs = [verb for verb in ("put", "get") if f"ours {verb}" in runs]
        print_figures(part, self.ways)
        for name, one in self.ways.items():
            verdicts.note(f"{part}: {name}", **one)

    def beside(self, peer, least, among=None, of="ours"):
        """Ours by the best way of the peer, or of several: put by its put, where it has one."""
        for verb in self.verbs:
            if f"{of} {verb}" not in self.ways:
                continue
            theirs = {way: self.ways[way]["gbit_per_s"] for each in among or (peer,) if (way := self.way_of(each, verb))}
            if not theirs:
                continue
            best = max(theirs, key=theirs.get)
            ours = self.ways[f"{of} {verb}"]["gbit_per_s"]
            what = verb if of == "ours" else f"{verb} of {of}"
            self.verdicts.add(f"{self.part}: {what}, by {peer}", ours / theirs[best], least=least, gbit_per_s=ours,
                              **{best: theirs[best]})

    def way_of(self, peer, verb):
        """The peer's that stands beside this verb; None: it did not run."""
        names = (f"{peer} {verb}", f"{peer} get", f"{peer} copy", peer)
        return next((name for name in names if name in self.ways), None)

    def cost(self, most):
        for verb in self.verbs:
            runs = self.runs[f"ours {verb}"]
            self.verdicts.add(f"{self.part}: {verb}, CPU s/GB of both ends", statistics.median(
                (run["cpu"] + run["server_cpu"]) / (run["bytes"] / 1e9) for run in runs), most=most)

    def peak(self):
        if self.verbs:
            self.verdicts.add(f"{self.part}: peak MiB of an end", max(
                self.ways[f"ours {verb}"][end] for verb in self.verbs for end in ("peak", "server_peak")),
                most=MOST_PEAK_MIB)
