"""Transfers over paths of lambda-lab: they end, identical, whatever the path does."""

import os

from harness import MIB, Settings, patience
from labs import LabCase

DEAD_S = 3
DEAD_LONG_S = 20
BACK_S = 2  # from the return of a dead path to data on it
FLOWING_MBIT = 5  # more than the probes of a dead path


class Paths(LabCase):
    SIZE = 24 * MIB + 7

    def over(self, bottleneck, *main, timetable="[]", seconds=60):
        """main: lines for the shell that run at once, and all must succeed."""
        path = self.path(f"bottleneck: {bottleneck}\n"
                         "hosts: [{name: client, side: left}, {name: server, side: right, delay: 10ms}]\n"
                         f"timetable: {timetable}\n")
        *others, last = main
        begun = "".join(f"{line} & all=\"$all $!\"; " for line in others)
        self.series = os.path.join(self.scratch, "series.csv")
        return self.lab(path, "--series", self.series, *self.serving(), seconds=seconds,
                        main=f"{begun}{last}; code=$?; for one in $all; do wait $one || code=$?; done; exit $code")

    def put(self, name="put"):
        """A line, and what must be equal afterwards."""
        source = self.random_file(name, self.SIZE)
        return self.ask("put", source, self.remote(name)), source, os.path.join(self.folder("root"), name)

    def get(self, name="get"):
        source, target = self.random_file(name, self.SIZE, folder="root"), os.path.join(self.folder("back"), name)
        return self.ask("get", self.remote(name), target), source, target

    def survives_a_dead_path(self, direction, line, source, target):
        # The transfer takes 5 s without: it has begun when the path dies, and has not ended.
        begin, dead = 3, DEAD_LONG_S if Settings.long else DEAD_S
        run = self.over("{rate: 40Mbit/s}", line, timetable=f"[{{at: {begin}s, dead: {dead}s}}]", seconds=60 + dead)
        self.assert_same(source, target)
        self.assertGreater(run.counters[direction]["dead"], 0)
        with open(self.series) as file:
            names, *rows = [row.strip().split(",") for row in file]
        column = names.index(f"{direction}_mbit")
        back = [float(row[0]) - begin - dead for row in rows
                if float(row[0]) > begin + dead and float(row[column]) > FLOWING_MBIT]
        self.assertTrue(back, "it was over before the path came back")
        self.assertLess(back[0], patience(BACK_S))

    def test_a_dead_path_under_put(self):
        self.survives_a_dead_path("forward", *self.put())

    def test_a_dead_path_under_get(self):
        self.survives_a_dead_path("backward", *self.get())

    def test_feedback_is_lost(self):
        for verb, path, feedback in (("put", "{rate: 100Mbit/s, backward: {loss: 0.1}}", "backward"),
                                     ("get", "{rate: 100Mbit/s, loss: 0.1, backward: {loss: 0}}", "forward")):
            line, source, target = getattr(self, verb)()
            run = self.over(path, line)
            self.assert_same(source, target)
            self.assertGreater(run.counters[feedback]["lost"], 10)

    def test_transfers_at_once(self):
        """Two one way and one the other, with loss."""
        lines, sources, targets = zip(self.put("one"), self.put("two"), self.get("three"))
        run = self.over("{rate: 100Mbit/s, loss: 1e-3}", *lines)
        for source, target in zip(sources, targets):
            self.assert_same(source, target)
        self.assertGreater(run.counters["forward"]["packets"], 2 * self.SIZE / 1500)
