"""How many round trips a small file costs, from the first packet to the program's end, counted in a
capture at the client."""

import json
import os
import shlex
import sys

from harness import need, sanitized
from labs import LabCase, PEER

# The programs' own time, of password hash and memory, stays far below one.
RTT_S = 0.5


def round_trips(packets):
    """The longest chain: an answer comes a round trip or more after what it answers, and what was sent
    from then on may depend on it."""
    count, at = 0, 0
    while True:
        at = next((at for at in range(at, len(packets)) if packets[at][1]), None)
        if at is None:
            return count
        asked = packets[at][0]
        at = next((later for later in range(at, len(packets))
                   if not packets[later][1] and packets[later][0] >= asked + RTT_S), None)
        if at is None:
            return count
        count += 1


class RoundTrips(LabCase):
    alone = True

    def test_one_small_file(self):
        need(not sanitized(), "a sanitizer's programs take longer than a round trip")
        source, back = self.random_file("small", 1000), os.path.join(self.scratch, "back")
        runs = (("put, first contact", 7, ("put", source, self.remote("one"))),
                ("put, known host", 5, ("put", source, self.remote("two"))),
                ("get, known host", 5, ("get", self.remote("one"), back)))
        lines = []
        for number, (_, _, words) in enumerate(runs):
            file = shlex.quote(os.path.join(self.logs, f"packets{number}"))
            lines.append(f"{shlex.quote(sys.executable)} -B {shlex.quote(PEER)} watch {file} {self.ask(*words)}")
        self.lab("--rate", "1Gbit/s", "--rtt", f"{RTT_S:g}s", *self.serving(), main=" && ".join(lines))
        self.assert_same(source, os.path.join(self.scratch, "root", "two"))
        self.assert_same(source, back)
        for number, (name, most, _) in enumerate(runs):
            with open(os.path.join(self.logs, f"packets{number}")) as file:
                packets = json.load(file)
            found = round_trips(packets)
            print(f"{name}: {found} round trips, {packets[-1][0] - packets[0][0]:.3f} s", file=sys.stderr)
            self.assertGreaterEqual(found, 3)  # TCP, TLS, a question: fewer were not counted right
            self.assertLessEqual(found, most, name)
