"""Socket buffers of both ends, small and large, over loopback: our own bursts may not overrun them.

From memory to nothing, private, put and get, with `socket_buffer` of the server and --socket-buffer of the client at
each of --buffers. What was lost was lost by ourselves: there is nobody else on the path. put and get of each are
compared by cmp once, before the rounds that count.
"""

import contextlib
import functools
import os

from bench_parts.lab import Failed
from bench_parts.measured import Mover, figures, load, memory_folder, print_figures
from bench_parts.path import several, size
from bench_parts.rounds import in_turn
from bench_parts.verdict import Verdicts, positive, small_bench


def main(words):
    parser = small_bench("buffers", __doc__)
    parser.add_argument("--buffers", type=several(size), default="208KiB,4MiB")
    parser.add_argument("--size", type=size, default="2GiB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    print(f"{arguments.size / 1e9:.3f} GB, {arguments.stripes} stripes, {arguments.rounds} rounds, {load()}")
    try:
        with memory_folder() as folder:
            judge(arguments, all_runs(arguments, folder, verdicts), verdicts)
    except Failed as problem:
        verdicts.failed("buffers", problem)
    verdicts.end()


def all_runs(arguments, folder, verdicts):
    """By (verb, buffer): the runs."""
    ways = {}
    with contextlib.ExitStack() as stack:
        for buffer in arguments.buffers:
            within = os.path.join(folder, str(buffer))
            os.mkdir(within)
            options = ("--stripes", str(arguments.stripes), "--socket-buffer", str(buffer))
            mover = stack.enter_context(Mover(arguments, within, arguments.size, {"socket_buffer": buffer}))
            mover.check_identity(*options)
            ways |= {(verb, buffer): functools.partial(getattr(mover, verb), *options) for verb in ("put", "get")}
        return in_turn("buffers", ways, arguments.rounds, verdicts)


def given(run):
    """Bytes that the receiver's socket really holds: the kernel bounds what is asked for (net.core.rmem_max)."""
    return run["summary"]["verdict"]["receiver"]["receive_buffer_bytes"]


def judge(arguments, runs, verdicts):
    for case, done in list(runs.items()):
        if (least := min(map(given, done))) < case[1]:
            verdicts.skipped(f"{case[0]}, {case[1] >> 10} KiB", f"the kernel gives {least >> 10} KiB")
            del runs[case]
    found = {case: figures(done) for case, done in runs.items()}
    print_figures("", {f"{verb}, {buffer >> 10} KiB": one for (verb, buffer), one in found.items()})
    for (verb, buffer), done in runs.items():
        verdicts.add(f"{verb}, {buffer >> 10} KiB: packets lost",
                     float(sum(run["summary"]["lost_packets"] for run in done)), most=0,
                     sent=sum(run["summary"]["sent_packets"] for run in done),
                     gbit_per_s=found[verb, buffer]["gbit_per_s"])
    for verb in ("put", "get"):
        rates = [found[verb, buffer]["gbit_per_s"] for buffer in arguments.buffers if (verb, buffer) in found]
        if len(rates) > 1:
            verdicts.add(f"{verb}: the slower by the faster", min(rates) / max(rates), least=0.7)
