"""We and our peers in turn, round after round, and what we must be beside them."""

import contextlib
import os
import statistics

from bench_parts.loopback_peers import NOTHING
from bench_parts.measured import figures, print_figures, same

MOST_PEAK_MIB = 320


class SideBySide:
    """movers: as loopback_peers tells. `before`: what is done before each run, out of its time."""

    def __init__(self, movers, source, target, durable=False, before=lambda: None):
        self.movers, self.source, self.target = movers, source, target
        self.durable, self.before = durable, before

    def check(self):
        """Each brings `source` to `target` once, which warms up; what arrived is compared."""
        for mover in self.movers:
            for verb in mover.verbs:
                self.one_run(mover, verb, self.target, compared=True)

    def rounds(self, count, target=None, besides=()):
        """By name and verb: its runs. All of a round follow each other. besides: name to what else is run."""
        runs = {f"{mover.name} {verb}": [] for mover in self.movers for verb in mover.verbs} | {
            name: [] for name, _ in besides}
        for _ in range(count):
            for mover in self.movers:
                for verb in mover.verbs:
                    runs[f"{mover.name} {verb}"].append(self.one_run(mover, verb, target or self.target))
            for name, run in besides:
                runs[name].append(run())
        return runs

    def one_run(self, mover, verb, target, compared=False):
        self.before()
        try:
            run = mover.run(verb, target, self.durable)
            if compared:
                same(self.source, target)
            return run
        finally:
            if target != NOTHING:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(target)


class Judge:
    """Prints what the runs of one part took, and holds ours against the peers' medians."""

    def __init__(self, part, runs, verdicts):
        self.part, self.runs, self.verdicts = part, runs, verdicts
        self.ways = {name: figures(done) for name, done in runs.items()}
        print_figures(part, self.ways)
        for name, one in self.ways.items():
            verdicts.note(f"{part}: {name}", **one)

    def beside(self, peer, least, among=None):
        """Ours by the best way of the peer, or of several: put by its put, where it has one."""
        for verb in ("put", "get"):
            theirs = {way: self.ways[way]["gbit_per_s"] for each in among or (peer,) if (way := self.way_of(each, verb))}
            if not theirs:
                continue
            best = max(theirs, key=theirs.get)
            ours = self.ways[f"ours {verb}"]["gbit_per_s"]
            self.verdicts.add(f"{self.part}: {verb}, by {peer}", ours / theirs[best], least=least, gbit_per_s=ours,
                              **{best: theirs[best]})

    def way_of(self, peer, verb):
        """The peer's that stands beside this verb; None: it did not run."""
        names = (f"{peer} {verb}", f"{peer} get", f"{peer} copy", peer)
        return next((name for name in names if name in self.ways), None)

    def cost(self, most):
        for verb in ("put", "get"):
            runs = self.runs[f"ours {verb}"]
            self.verdicts.add(f"{self.part}: {verb}, CPU s/GB of both ends", statistics.median(
                (run["cpu"] + run["server_cpu"]) / (run["bytes"] / 1e9) for run in runs), most=most)

    def peak(self):
        self.verdicts.add(f"{self.part}: peak MiB of an end", max(
            max(self.ways[f"ours {verb}"][end] for end in ("peak", "server_peak")) for verb in ("put", "get")),
            most=MOST_PEAK_MIB)
