"""Beside the kernel's TCP, in queues of 1 BDP: who gets how much. Goodput in Mbit/s.

  cubic       what 2 CUBIC flows keep beside one transfer of ours, by what they have beside 1 more CUBIC
              flow; and our share of an equal third of the link
  bbr         the smaller of the two shares of the link, of 1 BBR flow and one transfer
  lan         the definition of friendliness of SABUL's authors, at 0.4 ms: what 2 CUBIC flows keep beside
              2 transfers, by what they have beside 2 more CUBIC flows
  background  of a transfer with --background: its share beside 1 CUBIC flow, and of the link when alone
"""

from bench_parts.lab import Failed, Lab, Path, missing
from bench_parts.path import milliseconds, one_of, several
from bench_parts.place import Folder
from bench_parts.together import OURS_SHARE, Endless, Together
from bench_parts.verdict import Verdicts, seconds, small_bench

LINK_MBIT = 1000 * OURS_SHARE
NAMES = ("cubic", "bbr", "lan", "background")
LAN_MS = 0.4
LAN_QUEUE = "1MB"  # a BDP of 50 kB is less than one burst of the kernel's TCP


def main(words):
    parser = small_bench("friendly", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", type=one_of(NAMES),
                        help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--rtt", type=several(milliseconds), default="20ms,100ms")
    parser.add_argument("--seconds", type=seconds, default=40)
    parser.add_argument("--warm", type=float, default=10)
    parser.add_argument("--law", default="sabul")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    if reason := missing("iperf3"):
        verdicts.skipped("friendly", reason)
        verdicts.end()
    with Folder(arguments) as folder:
        bench = Friendly(arguments, folder, verdicts)
        for name in arguments.names or NAMES:
            for rtt in [LAN_MS] if name == "lan" else arguments.rtt:
                try:
                    getattr(bench, name)(rtt)
                except Failed as problem:
                    verdicts.failed(f"{name}, {rtt:g} ms", problem)
    verdicts.end()


class Friendly:
    def __init__(self, arguments, folder, verdicts):
        self.arguments, self.verdicts = arguments, verdicts
        self.lab, self.endless = Lab(arguments, folder), Endless(arguments, folder)
        self.law = ("--congestion", arguments.law)

    def on(self, rtt, queue="1BDP"):
        return Together(self.lab, self.endless, Path(rtt, queue=queue), self.arguments.seconds, self.arguments.warm)

    def cubic(self, rtt):
        beside_tcp = self.on(rtt).tcp("cubic", 2).tcp("cubic", 1).run()
        beside_ours = self.on(rtt).tcp("cubic", 2).transfer(*self.law).run()
        kept, had = beside_ours["tcp"][0], beside_tcp["tcp"][0]
        self.verdicts.add(f"{rtt:g} ms: 2 CUBIC keep beside 1 transfer, by beside 1 CUBIC", kept / had, least=0.8,
                          kept=kept, had=had, third_cubic=beside_tcp["tcp"][1], queue_ms=beside_ours["queue_ms"],
                          strained=beside_tcp["strained"] or beside_ours["strained"])
        self.verdicts.add(f"{rtt:g} ms: the transfer, by a third of the link", beside_ours["ours"] / (LINK_MBIT / 3),
                          least=0.5, ours=beside_ours["ours"])

    def bbr(self, rtt):
        run = self.on(rtt).tcp("bbr", 1).transfer(*self.law).run()
        self.verdicts.add(f"{rtt:g} ms: the lesser of BBR and transfer, by the link",
                          min(run["tcp"][0], run["ours"]) / LINK_MBIT, least=0.25, bbr=run["tcp"][0], ours=run["ours"],
                          queue_ms=run["queue_ms"], strained=run["strained"])

    def lan(self, rtt):
        beside_tcp = self.on(rtt, LAN_QUEUE).tcp("cubic", 2).tcp("cubic", 2).run()
        beside_ours = self.on(rtt, LAN_QUEUE).tcp("cubic", 2).transfer(*self.law).transfer(*self.law).run()
        kept, had = beside_ours["tcp"][0], sum(beside_tcp["tcp"]) / 2
        self.verdicts.add(f"{rtt:g} ms: 2 CUBIC keep beside 2 transfers, by beside 2 CUBIC", kept / had, least=1,
                          kept=kept, had=had, ours=beside_ours["ours"],
                          strained=beside_tcp["strained"] or beside_ours["strained"])

    def background(self, rtt):
        beside = self.on(rtt).tcp("cubic", 1).transfer("--background").run()
        self.verdicts.add(f"{rtt:g} ms: --background beside CUBIC, by the link", beside["ours"] / LINK_MBIT, most=0.1,
                          cubic=beside["tcp"][0], ours=beside["ours"], strained=beside["strained"])
        alone = self.on(rtt).transfer("--background").run()
        self.verdicts.add(f"{rtt:g} ms: --background alone, by the link", alone["ours"] / LINK_MBIT, least=0.9,
                          ours=alone["ours"], queue_ms=alone["queue_ms"], strained=alone["strained"])
