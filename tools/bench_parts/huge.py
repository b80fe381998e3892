"""Nothing but bytes may cost, however large a file is.

  sparse  a file of 1 TiB that is one hole (--sparse), put to /.null and got to /dev/null: what the whole process takes;
          and into memory, where what arrived must have the same size and be one hole, too
  bytes   CPU of both ends for each GB at 100 GB (--size) and at 4 GB (--small), private, from memory to nothing: get of
          zeros (/.zero to /dev/null); put of a file of 256 MiB of random bytes under as many names as that takes, to
          /.null. Zeros that are no hole travel, and are digested, like any other bytes.

Each client says how much it moved and that the digests of both ends agreed. At 8 Gbit/s the 100 GB take 100 s, each
way and in each round.
"""

import functools
import os
import statistics

from bench_parts.lab import Failed
from bench_parts.measured import Mover, figures, load, memory_folder, print_figures
from bench_parts.path import VERBS, one_of, several, size
from bench_parts.rounds import in_turn
from bench_parts.verdict import Verdicts, positive, small_bench

NAMES = ("sparse", "bytes")
PIECE = 256 << 20
SPARSE_MOST_S = 10  # for nothing at all; three orders below what 1 TiB of bytes takes


def main(words):
    parser = small_bench("huge", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", type=one_of(NAMES), help="sparse or bytes; default: both")
    parser.add_argument("--sparse", type=size, default="1024GiB")
    parser.add_argument("--size", type=size, default="100GB", help="the large one (100GB)")
    parser.add_argument("--small", type=size, default="4GB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--verbs", type=several(one_of(VERBS)), default="put,get")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    print(f"{arguments.stripes} stripes, {arguments.rounds} rounds, {load()}")
    for name in arguments.names or NAMES:
        try:
            with memory_folder() as folder:
                {"sparse": sparse, "bytes": of_bytes}[name](arguments, folder, verdicts)
        except Failed as problem:
            verdicts.failed(name, problem)
    verdicts.end()


def sparse(arguments, folder, verdicts):
    with Mover(arguments, folder, 0) as mover:
        os.truncate(mover.source, arguments.sparse)
        for verb, way in (("put", mover.put), ("get", mover.get)):
            runs = [way("--stripes", str(arguments.stripes)) for _ in range(arguments.rounds)]
            verdicts.add(f"{verb} of a hole of {arguments.sparse / (1 << 40):g} TiB, seconds",
                         statistics.median(run["seconds"] for run in runs), most=SPARSE_MOST_S,
                         cpu=statistics.median(run["cpu"] + run["server_cpu"] for run in runs),
                         packets=max(run["summary"]["sent_packets"] for run in runs),
                         peak_mib=max(run["peak"] for run in runs),
                         server_peak_mib=max(run["server_peak"] for run in runs))
            verdicts.add(f"{verb}: arrived as it was", float(arrived_sparse(mover, verb, arguments)), least=1)


def arrived_sparse(mover, verb, arguments):
    """Into memory: the digests agreed, the size is the same, and no byte of it is held."""
    target = os.path.join(mover.root if verb == "put" else mover.folder, "arrived")
    ends = [mover.source, f"{mover.url}/arrived"] if verb == "put" else [f"{mover.url}/source", target]
    mover.run(mover.command(verb, *ends), 0)
    status = os.stat(target)
    os.unlink(target)
    return status.st_size == arguments.sparse and status.st_blocks == 0


def of_bytes(arguments, folder, verdicts):
    piece = min(PIECE, arguments.small)
    with Mover(arguments, folder, piece) as mover:
        mover.check_identity("--stripes", str(arguments.stripes))
        ways = {(verb, of): functools.partial(run_of, mover, verb, of, piece, arguments.stripes)
                for verb in arguments.verbs for of in (arguments.small, arguments.size)}
        runs = in_turn("huge", ways, arguments.rounds, verdicts)
    found = {case: figures(done) for case, done in runs.items()}
    print_figures("", {f"{verb}, {of / 1e9:g} GB": one for (verb, of), one in found.items()})
    for (verb, of), one in found.items():
        verdicts.note(f"{verb}, {of} bytes", **one)
    for verb in arguments.verbs:
        if any((verb, of) not in runs for of in (arguments.small, arguments.size)):
            continue
        small, large = (statistics.median((run["cpu"] + run["server_cpu"]) / (run["bytes"] / 1e9)
                                          for run in runs[verb, of]) for of in (arguments.small, arguments.size))
        verdicts.add(f"{verb}: CPU s/GB of {arguments.size / 1e9:g} GB by that of {arguments.small / 1e9:g} GB",
                     large / small, most=1.05, large=large, small=small)


def run_of(mover, verb, of, piece, stripes):
    """So many bytes; of put whole pieces, at least one."""
    if verb == "get":
        return mover.run(mover.command("get", "--stripes", str(stripes), f"{mover.url}/.zero/{of}", "/dev/null"), of)
    names = [link(mover, number) for number in range(max(of // piece, 1))]
    target = f"{mover.url}/.null" + ("/" if len(names) > 1 else "")
    return mover.run(mover.command("put", "--stripes", str(stripes), *names, target), len(names) * piece, len(names))


def link(mover, number):
    name = os.path.join(mover.folder, f"piece-{number}")
    if not os.path.exists(name):
        os.link(mover.source, name)
    return name
