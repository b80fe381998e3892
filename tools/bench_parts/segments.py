"""A veth pair between two namespaces, MTU 1500 (--mtu), on which nobody joins packets: every offload of segments is
off at both ends, and what ethtool says of them is shown. From memory to nothing, private (AES-128-GCM), beside

  single   raw UDP, a packet a message, sent by sendmmsg
  segment  raw UDP in bursts that the kernel cuts behind the sender's call (UDP_SEGMENT), which it does here in software
  curl     the same file from nginx over HTTPS (TLS 1.3, AES-128-GCM), TCP as the kernel tunes it
  zeros    ours where no file is read, as raw UDP reads none (lambda-ftp trial)

Wall clock of whole client processes; of raw UDP what arrived, between its first and its last packet. All of a round
follow each other. The first round does not count: in it put and get go into memory, and what arrived is compared by
cmp. Later each client says how much it moved and that the digests of both ends agreed. Needs root, ip, ethtool and cc;
the namespaces have no names and go with the bench, killed or not.
"""

import functools
import os
import statistics

from bench_parts.hosts import Pair
from bench_parts.lab import Failed
from bench_parts.measured import Mover, figures, load, memory_folder, print_figures, same
from bench_parts.nginx import RunningNginx
from bench_parts.path import size
from bench_parts.processes import Served, longest, timed
from bench_parts.raw import WAYS, RawUdp
from bench_parts.rounds import in_turn
from bench_parts.verdict import Verdicts, positive, seconds, small_bench

OVERHEAD = 28  # IPv4 and UDP


def main(words):
    parser = small_bench("segments", __doc__)
    parser.add_argument("--size", type=size, default="1GiB")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--mtu", type=positive, default=1500)
    parser.add_argument("--seconds", type=seconds, default=3, help="of raw UDP (3)")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    if reason := Pair.missing() or RawUdp.missing:
        verdicts.skipped("segments", reason)
        verdicts.end()
    print(f"{arguments.size / 1e9:.3f} GB, {arguments.stripes} stripes, MTU {arguments.mtu}, {arguments.rounds} rounds, "
          f"{load()}")
    try:
        with memory_folder() as folder, Pair(arguments.mtu) as pair:
            show_offloads(pair, verdicts)
            judge(arguments, measure(arguments, folder, pair, verdicts), verdicts)
    except Failed as problem:
        verdicts.failed("segments", problem)
    verdicts.end()


def show_offloads(pair, verdicts):
    for name, host in (("client", pair.client), ("server", pair.server)):
        said = host.offloads()
        on = sorted(feature for feature, state in said.items() if state == "on")
        print(f"ethtool, {name}: {len(said) - len(on)} of {len(said)} offloads of segments off"
              + (f"; ON: {', '.join(on)}" if on else ""))
        verdicts.note(f"ethtool, {name}", offloads=said)


def measure(arguments, folder, pair, verdicts):
    """By way: its figures."""
    stripes = ("--stripes", str(arguments.stripes))
    raw = RawUdp(folder)
    with Mover(arguments, folder, arguments.size, client_host=pair.client, server_host=pair.server) as mover:
        ways = {way: lambda way=way: raw_run(arguments, raw, pair, way) for way in WAYS}
        ways |= {"put": lambda: mover.put(*stripes), "get": lambda: mover.get(*stripes)}
        ways |= {f"zeros {verb}": functools.partial(mover.zeros, verb, *stripes) for verb in ("put", "get")}
        https = None
        try:
            if missing := RunningNginx.missing():
                verdicts.skipped("curl", f"not installed: {', '.join(missing)}")
            else:
                https = RunningNginx(folder, mover.root, pair.server)
                target = os.path.join(folder, "fetched")
                check = {"curl": lambda: check_curl(arguments, https, pair, mover.source, target)}
                if in_turn("segments", check, 1, verdicts, measured=False):
                    ways["curl"] = lambda: curl(arguments, https, pair, "/dev/null")
            mover.check_identity(*stripes)
            runs = in_turn("segments", ways, arguments.rounds, verdicts)
        finally:
            if https:
                https.stop()
    return {name: figures(done) for name, done in runs.items()}


def raw_run(arguments, raw, pair, way):
    gbit = raw.run(pair.client, pair.server, arguments.mtu - OVERHEAD, arguments.seconds, way)
    return {"seconds": arguments.seconds, "bytes": gbit * 1e9 / 8 * arguments.seconds}


def curl(arguments, https, pair, target):
    served = Served(https.server)
    done = timed(https.fetch(target), os.environ, longest(arguments.size), pair.client)
    return done | {"bytes": arguments.size} | served.cost()


def check_curl(arguments, https, pair, source, target):
    curl(arguments, https, pair, target)
    same(source, target)
    os.unlink(target)


def judge(arguments, ways, verdicts):
    print_figures("", ways)
    for name, one in ways.items():
        verdicts.note(name, size=arguments.size, **one)
    for verb in filter(ways.get, ("put", "get")):
        ours = ways[verb]["gbit_per_s"]
        for way in filter(ways.get, WAYS):
            raw = ways[way]["gbit_per_s"]
            verdicts.add(f"{verb}, by raw UDP ({way})", ours / raw, least=0.6, gbit_per_s=ours, raw=raw)
            if zeros := ways.get(f"zeros {verb}"):
                verdicts.add(f"zeros {verb}, by raw UDP ({way})", zeros["gbit_per_s"] / raw,
                             gbit_per_s=zeros["gbit_per_s"], raw=raw)
        if "curl" in ways:
            # Of each round, so that what slows the whole machine for a while cancels out.
            ratio = statistics.median(a / b for a, b in zip(ways[verb]["rates"], ways["curl"]["rates"]))
            verdicts.add(f"{verb}, by curl HTTPS", ratio, least=1, curl=ways["curl"]["gbit_per_s"])
