"""Through lambda-lab with packets of 9,000 bytes (--mtu) and 1 ms (--rtt), at the highest rate that the lab carries.

That rate is found first: raw UDP in a lab whose link is faster than it can be, by sendmmsg of single packets and of
bursts that the kernel cuts (UDP_SEGMENT); the better one, as whole IP packets, is then the link's rate for all. On it,
round after round: raw UDP once more, put and get of a file from memory to nothing (private, AES-128-GCM), and curl of
it from nginx over HTTPS (TLS 1.3, AES-128-GCM) with the kernel's CUBIC. Ours by the wall clock of the whole process,
curl by its own time_total. Before, put, get and curl go into memory once, and what arrived is compared by cmp. `strained`
tells of how many runs the lab says that the path was not what it should have been. Needs root and cc.
"""

import functools
import os
import statistics

from bench_parts.lab import AROUND_S, Failed, Lab, Path, missing, once_more, shell
from bench_parts.measured import figures, load, memory_folder, moved, print_figures, same
from bench_parts.nginx import Nginx
from bench_parts.ours import Ours
from bench_parts.path import milliseconds, size
from bench_parts.place import make_random
from bench_parts.raw import WAYS, RawUdp, arrived
from bench_parts.rounds import in_turn
from bench_parts.verdict import Verdicts, positive, seconds, small_bench

OVERHEAD = 28  # IPv4 and UDP
BEYOND = "100Gbit/s"
SERVER = "10.77.2.1"  # the first host at the right (docs/lab.md)
HTTPS_PORT = 8443
LONGEST_RUN_S = 300


def main(words):
    parser = small_bench("jumbo", __doc__)
    parser.add_argument("--rtt", type=milliseconds, default="1ms")
    parser.add_argument("--mtu", type=positive, default=9000)
    parser.add_argument("--size", type=size, default="4GiB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--seconds", type=seconds, default=3, help="of raw UDP (3)")
    parser.add_argument("--rate", help="of the link, where the highest one is known, as 8Gbit/s")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    if reason := missing() or RawUdp.missing:
        verdicts.skipped("jumbo", reason)
        verdicts.end()
    try:
        with memory_folder() as folder:
            bench = Jumbo(arguments, folder, verdicts)
            bench.judge(bench.measure(arguments.rate or bench.highest_rate()))
    except Failed as problem:
        verdicts.failed("jumbo", problem)
    verdicts.end()


class Jumbo:
    def __init__(self, arguments, folder, verdicts):
        self.arguments, self.folder, self.verdicts = arguments, folder, verdicts
        self.lab, self.raw, self.ours = Lab(arguments, folder), RawUdp(folder), Ours(arguments, folder)
        self.source = make_random(os.path.join(self.ours.root, "source"), arguments.size)
        self.target = os.path.join(folder, "target")
        self.nginx = None if Nginx.missing() else Nginx(folder, self.ours.root, SERVER, HTTPS_PORT)

    def path(self, rate):
        return Path(self.arguments.rtt, rate=rate, mtu=self.arguments.mtu)

    # Each of these is one run on a path of that rate

    def raw_udp(self, rate, way):
        arguments = self.arguments
        sender = self.raw.sender(SERVER, arguments.mtu - OVERHEAD, arguments.seconds, way)
        run = self.lab.run(self.path(rate), shell(sender), [(shell(self.raw.receiver()), "ready")],
                           arguments.seconds + AROUND_S)
        with open(os.path.join(self.lab.logs, "server-1.out")) as file:
            gbit = arrived(file.read())
        return {"seconds": arguments.seconds, "bytes": gbit * 1e9 / 8 * arguments.seconds, "strained": run.strained}

    def transfer(self, rate, verb, target):
        source = self.source if verb == "put" else "source"
        line = self.ours.transfer(verb, [source], target, "--stripes", str(self.arguments.stripes), "--cipher",
                                  "aes-128-gcm", "--quiet")
        run = self.lab.run(self.path(rate), line, [self.ours.server("--allow-null")], LONGEST_RUN_S)
        done = moved(run.stdout, self.arguments.size)
        return done | {"seconds": done["summary"]["seconds"], "strained": run.strained}

    def curl(self, rate, target):
        line = shell([*self.nginx.fetch(target), "-w", "%{time_total}"])
        run = self.lab.run(self.path(rate), line, [(shell(self.nginx.serve()), f":{HTTPS_PORT}")], LONGEST_RUN_S)
        return {"seconds": float(run.stdout), "bytes": self.arguments.size, "strained": run.strained}

    def highest_rate(self):
        found = {}
        for way in WAYS:
            runs = [self.raw_udp(BEYOND, way) for _ in range(self.arguments.rounds)]
            found[way] = figures(runs)["gbit_per_s"]
            print(f"the lab carries of raw UDP, {way}: {found[way]:.2f} Gbit/s of payload", flush=True)
        mtu = self.arguments.mtu
        return f"{max(found.values()) * mtu / (mtu - OVERHEAD) * 1000:.0f}Mbit/s"

    def measure(self, rate):
        """By way: its runs."""
        print(f"link {rate}, MTU {self.arguments.mtu}, {self.arguments.rtt:g} ms, {self.arguments.size / 1e9:.3f} GB, "
              f"{self.arguments.stripes} stripes, {self.arguments.rounds} rounds, {load()}", flush=True)
        moves = {verb: functools.partial(self.transfer, rate, verb) for verb in ("put", "get")}
        if self.nginx:
            moves["curl"] = functools.partial(self.curl, rate)
        else:
            self.verdicts.skipped("curl", f"not installed: {', '.join(Nginx.missing())}")
        checks = {name: functools.partial(self.compare, move, "target" if name == "put" else self.target)
                  for name, move in moves.items()}
        good = in_turn("jumbo", checks, 1, self.verdicts, measured=False)
        ways = {way: functools.partial(self.raw_udp, rate, way) for way in WAYS}
        ways |= {name: functools.partial(moves[name], ".null" if name == "put" else "/dev/null") for name in good}
        ways = {name: functools.partial(once_more, way) for name, way in ways.items()}
        return in_turn("jumbo", ways, self.arguments.rounds, self.verdicts)

    def compare(self, move, target):
        move(target)
        arrived_at = os.path.join(self.ours.root, target)
        same(self.source, arrived_at)
        os.unlink(arrived_at)

    def judge(self, runs):
        ways = {name: figures(done) for name, done in runs.items()}
        strained = {name: sum(run["strained"] for run in done) for name, done in runs.items()}
        print_figures("", ways)
        for name, one in ways.items():
            self.verdicts.note(name, size=self.arguments.size, strained=strained[name], **one)
        ceiling = max((ways[way]["gbit_per_s"] for way in filter(ways.get, WAYS)), default=None)
        for verb in filter(ways.get, ("put", "get")):
            ours = ways[verb]["gbit_per_s"]
            if ceiling:
                self.verdicts.add(f"{verb}, by raw UDP", ours / ceiling, least=0.6, gbit_per_s=ours, raw=ceiling,
                                  strained=strained[verb])
            if "curl" in ways:
                ratio = statistics.median(a / b for a, b in zip(ways[verb]["rates"], ways["curl"]["rates"]))
                self.verdicts.add(f"{verb}, by curl HTTPS", ratio, least=1, curl=ways["curl"]["gbit_per_s"],
                                  strained=strained["curl"])
