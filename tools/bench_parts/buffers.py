"""Socket buffers of both ends, small and large, over loopback: our own bursts may not overrun them.

From memory to nothing, private, put and get, with `socket_buffer` of the server and --socket-buffer of the client at
each of --buffers. What was lost was lost by ourselves: there is nobody else on the path. put and get of each are
compared by cmp once, before the rounds that count.
"""

import os

from bench_parts.lab import Failed
from bench_parts.measured import Mover, figures, load, memory_folder, print_figures
from bench_parts.path import several, size
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
            judge(arguments, {buffer: of_buffer(arguments, folder, buffer) for buffer in arguments.buffers}, verdicts)
    except Failed as problem:
        verdicts.failed("buffers", problem)
    verdicts.end()


def of_buffer(arguments, folder, buffer):
    """By verb: the runs."""
    within = os.path.join(folder, str(buffer))
    os.mkdir(within)
    options = ("--stripes", str(arguments.stripes), "--socket-buffer", str(buffer))
    with Mover(arguments, within, arguments.size, {"socket_buffer": buffer}) as mover:
        mover.check_identity(*options)
        runs = {"put": [], "get": []}
        for _ in range(arguments.rounds):
            for verb, done in runs.items():
                done.append(getattr(mover, verb)(*options))
        os.unlink(mover.source)
    return runs


def judge(arguments, found, verdicts):
    print_figures("", {f"{verb}, {buffer >> 10} KiB": figures(done) for buffer, runs in found.items()
                       for verb, done in runs.items()})
    for verb in ("put", "get"):
        rates = {}
        for buffer, runs in found.items():
            rates[buffer] = figures(runs[verb])["gbit_per_s"]
            lost = sum(run["summary"]["lost_packets"] for run in runs[verb])
            sent = sum(run["summary"]["sent_packets"] for run in runs[verb])
            verdicts.add(f"{verb}, {buffer >> 10} KiB: packets lost", float(lost), most=0, sent=sent,
                         gbit_per_s=rates[buffer])
        verdicts.add(f"{verb}: the slower by the faster", min(rates.values()) / max(rates.values()), least=0.7)
