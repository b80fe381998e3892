"""put and get of one file from disk to disk over loopback, private, cold at the start and durable at the end, beside
the peers that this machine has.

  dd direct, cp                      the disk itself, and its file system; without a network
  rclone HTTP, globus, rsync         in clear
  curl HTTPS, aria2, scp             AES-128-GCM

Wall clock from the start of the client's process until all is on the disk: a transfer of ours ends so by itself, dd by
its fsync, behind all others `sync -f` of the target's file system is within the time. Before each run the source is
dropped from the page cache, and nothing is left to be written. All of a round follow each other; before, each goes once,
which warms up, and what arrived is compared by cmp. CPU seconds are of both ends' processes, user and system, for each
GB (1e9 bytes). Source and target lie under --folder. A peer that is not installed is left out, and named.
"""

import os

from bench_parts.lab import Failed
from bench_parts.loopback_peers import PEERS, Ours, make_peers
from bench_parts.measured import Mover, load
from bench_parts.path import one_of, size
from bench_parts.place import Folder
from bench_parts.side_by_side import Judge, SideBySide
from bench_parts.verdict import Verdicts, positive, small_bench

CEILING = "dd direct"


def main(words):
    parser = small_bench("disk", __doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", type=one_of(PEERS),
                        help=f"these alone, of {', '.join(PEERS)}")
    parser.add_argument("--size", type=size, default="4GiB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    print(f"{arguments.size / 1e9:.3f} GB, {arguments.stripes} stripes, {arguments.rounds} rounds, {load()}", flush=True)
    try:
        with Folder(arguments) as folder:
            hold(measure(arguments, folder, verdicts))
    except Failed as problem:
        verdicts.failed("disk", problem)
    verdicts.end()


def measure(arguments, folder, verdicts):
    with Mover(arguments, folder, arguments.size) as mover:
        os.chmod(mover.root, 0o777)  # globus-gridftp-server serves as nobody
        peers = make_peers(arguments.peers or PEERS, folder, mover.source, verdicts)
        try:
            movers = [Ours(mover, "--stripes", str(arguments.stripes)), *peers]
            target = os.path.join(mover.root, "arrived")
            both = SideBySide("disk", movers, mover.source, target, verdicts, durable=True,
                              before=lambda: be_cold(mover.source))
            both.check()
            return Judge("disk", both.rounds(arguments.rounds), verdicts)
        finally:
            for peer in peers:
                peer.stop()


def be_cold(source):
    """Nothing is left to be written, and nothing of the source is in the page cache."""
    os.sync()
    descriptor = os.open(source, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def hold(judge):
    judge.beside(CEILING, 0.95)
    for peer in PEERS:
        if peer != CEILING:
            judge.beside(peer, 1)
    judge.cost(1.4)
    judge.peak()
