"""put and get of one file in memory (/dev/shm) over loopback, beside the peers that this machine has.

  nothing  private, to nothing (/.null, /dev/null), beside curl from nginx over HTTPS (TLS 1.3, AES-128-GCM)
  clear    in clear, to nothing, beside globus-url-copy of 1 and of 4 streams; and of zeros, by a whole
           `lambda-ftp trial`, beside raw UDP (UDP_SEGMENT, GRO), neither of which reads a file
  stored   private, to memory, beside rclone over HTTP in clear, aria2 of 4 connections and curl over HTTPS, and the
           rsync daemon

Wall clock of the client's whole process, from its start to its end; of raw UDP what arrived, at the best of its
payloads. All of a round follow each other, so that all see the same machine. Before, each brings the file into memory
once, and what arrived is compared by cmp; that warms up, too. Later each client of ours says how much it moved and that
the digests of both ends agreed. CPU seconds are of all threads of a process, user and system, for each GB (1e9 bytes).
Ratios are of medians, beside the peer's same verb; who only fetches stands beside both. A peer that is not installed is
left out, and named.
"""

import functools
import os

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed
from bench_parts.loopback_peers import NOTHING, PEERS, Ours, make_peers
from bench_parts.measured import Mover, load, memory_folder
from bench_parts.path import VERBS, one_of, several, size
from bench_parts.raw import RawUdp
from bench_parts.rounds import WANTED
from bench_parts.side_by_side import Judge, SideBySide
from bench_parts.verdict import Verdicts, positive, seconds, small_bench

GLOBUS = ("globus 1", "globus 4")
NAMES = {"nothing": ("curl HTTPS",), "clear": GLOBUS,
         "stored": ("rclone HTTP", "aria2 -x4 HTTPS", "curl HTTPS", "rsync")}
RAW_PAYLOADS = (1440, 8944, 32725)


def main(words):
    parser = small_bench("memory", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", type=one_of(NAMES),
                        help=f"{', '.join(NAMES)}; default: all")
    parser.add_argument("--size", type=size, default="4GiB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--seconds", type=seconds, default=2, help="of raw UDP, by each payload (2)")
    parser.add_argument("--peers", type=several(one_of(PEERS)), help=f"these alone, of {', '.join(PEERS)}")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    print(f"{arguments.size / 1e9:.3f} GB, {arguments.stripes} stripes, {arguments.rounds} rounds, {load()}", flush=True)
    for name in arguments.names or NAMES:
        try:
            with memory_folder() as folder:
                os.chmod(folder, 0o755)  # globus-gridftp-server serves as nobody
                Memory(name, arguments, folder, verdicts).bench()
        except Failed as problem:
            verdicts.failed(name, problem)
    verdicts.end()


class Memory:
    def __init__(self, name, arguments, folder, verdicts):
        self.name, self.arguments, self.folder, self.verdicts = name, arguments, folder, verdicts

    def bench(self):
        arguments = self.arguments
        with Mover(arguments, self.folder, arguments.size) as mover:
            os.chmod(mover.root, 0o777)
            protection = "clear" if self.name == "clear" else "private"
            ours = Ours(mover, "--stripes", str(arguments.stripes), "--protection", protection)
            peers = make_peers(self.peers(), self.folder, mover.source, self.verdicts)
            try:
                target = os.path.join(mover.root, "arrived")
                both = SideBySide(self.name, [ours, *peers], mover.source, target, self.verdicts)
                both.check()
                kept = self.name == "stored"
                runs = both.rounds(arguments.rounds, target if kept else NOTHING, self.besides(mover),
                                   WANTED + (arguments.size if kept else 0))
                judge = Judge(self.name, runs, self.verdicts)
            finally:
                for peer in peers:
                    peer.stop()
        getattr(self, f"judge_{self.name}")(judge)
        judge.peak()

    def peers(self):
        return [name for name in NAMES[self.name] if name in (self.arguments.peers or PEERS)]

    def besides(self, mover):
        """Of `clear` alone: zeros, and raw UDP, as its best payload has it."""
        if self.name != "clear":
            return ()
        options = ("--stripes", str(self.arguments.stripes), "--protection", "clear")
        zeros = [(f"zeros {verb}", functools.partial(mover.zeros, verb, *options)) for verb in VERBS]
        if RawUdp.missing:
            self.verdicts.skipped("raw UDP", RawUdp.missing)
            return zeros
        raw = RawUdp(self.folder)
        return zeros + [(f"raw UDP {payload}", functools.partial(self.raw_run, raw, payload))
                        for payload in RAW_PAYLOADS]

    def raw_run(self, raw, payload):
        gbit = raw.run(LOOPBACK, LOOPBACK, payload, self.arguments.seconds, "segment")
        return {"seconds": self.arguments.seconds, "bytes": gbit * 1e9 / 8 * self.arguments.seconds}

    @staticmethod
    def judge_nothing(judge):
        judge.beside("curl HTTPS", 1.6)
        judge.cost(1.05)

    @staticmethod
    def judge_clear(judge):
        judge.beside("globus", 1.2, GLOBUS)
        raw = [f"raw UDP {payload}" for payload in RAW_PAYLOADS]
        judge.beside("raw UDP", 0.45, raw, of="zeros")
        judge.beside("raw UDP", None, raw)
        judge.cost(0.7)

    @staticmethod
    def judge_stored(judge):
        judge.beside("rclone HTTP", 0.9)
        judge.beside("aria2 -x4 HTTPS", 2)
        judge.beside("curl HTTPS", 1)
        rates = [judge.ways[f"ours {verb}"]["gbit_per_s"] for verb in judge.verbs]
        if len(rates) == 2:
            judge.verdicts.add("stored: the slower of put and get by the faster", min(rates) / max(rates), least=0.8)
