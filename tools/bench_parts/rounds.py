"""What is run in turn, round after round, on processors that are near to each other and with memory that is there.

The host of a virtual machine moves its processors about. For seconds two of them may share no cache: a word goes there
and back in 330 ns in place of 55, and whoever hands bytes from one to the other is slower by a third and more, whatever the
program. So each run waits for its processors to be near, and is repeated once where they were not at its end.
free_memory.py tells of the memory.
"""

import functools
import subprocess
import time

from bench_parts import free_memory
from bench_parts.lab import Failed
from bench_parts.processes import program

# There and back. Within one die no more than half of this was seen, between two of them the double.
FAR_NS = 160
MOST_WAIT_S, PAUSE_S = 20, 0.2
WANTED = 256 << 20


def in_turn(part, ways, rounds, verdicts, measured=True, wanted=WANTED):
    """By name, or names: its runs. ways: name to what is run, which returns a map; all of a round follow each other. Who fails
    is named, and left out from then on. A run has "apart" where the processors were far from each other before it or
    after it. `wanted`: the memory of one run, with its target where that is in memory. Not `measured`: where processors
    are, and memory is, does not matter, and nothing is repeated."""
    runs, processors = {name: [] for name in ways}, Processors()
    for name in list(ways) * rounds:
        if name in runs:
            try:
                runs[name].append(processors.run_near(functools.partial(with_memory, ways[name], wanted)) if measured
                                  else ways[name]())
            except Failed as problem:
                words = name if isinstance(name, tuple) else (name,)
                verdicts.failed(f"{part}: {' '.join(map(str, words))}", problem)
                del runs[name]
    return runs


def with_memory(way, wanted):
    free_memory.bring_back(wanted)
    return way()


class Processors:
    """The first two that the bench may run on. Where there is one alone, or no compiler, they are always near."""

    resigned = False

    def run_near(self, way):
        for _ in range(2):
            self.wait()
            run = way()
            if self.resigned:
                break
            if not self.far():
                return run
        return run | {"apart": True}

    def wait(self):
        """Until they are near; not for ever, and not again before they were."""
        deadline = time.monotonic() + MOST_WAIT_S
        while self.far():
            self.resigned = self.resigned or time.monotonic() > deadline
            if self.resigned:
                return
            time.sleep(PAUSE_S)
        self.resigned = False

    @staticmethod
    def far():
        try:
            done = subprocess.run([program("distance")], capture_output=True, text=True, timeout=MOST_WAIT_S)
        except (Failed, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and float(done.stdout) > FAR_NS
