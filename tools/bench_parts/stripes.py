"""How stripes and transfers share among themselves, without anybody else on the path.

  jain  Jain's index of the bytes of 4 stripes of one transfer, by `sabul` and by `sabul2003`
  mimd  two transfers of one stripe by `mimd` with T of 200 and 400 ms: the one that decides more often
        gets more, in the papers 1.1 to 1.5 times as much
  count one transfer over loopback, from memory to nothing, by each number of --counts: the slowest by the fastest
"""

from bench_parts.lab import Failed, Lab, Path, missing
from bench_parts.path import milliseconds, one_of, several, size
from bench_parts.place import Folder
from bench_parts.stripe_counts import stripe_counts
from bench_parts.together import Endless, Together, jain
from bench_parts.verdict import Verdicts, positive, seconds, small_bench

LAWS = ("sabul", "sabul2003")


NAMES = ("jain", "mimd", "count")


def main(words):
    parser = small_bench("stripes", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", type=one_of(NAMES),
                        help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--rtt", type=milliseconds, default="20ms")
    parser.add_argument("--seconds", type=seconds, default=40)
    parser.add_argument("--counts", "--stripes", type=several(positive), default="1,2,4,8,16,32", help="of count")
    parser.add_argument("--size", type=size, default="8GiB", help="of count's file (8GiB): set-up is no part of what is asked")
    parser.add_argument("--rounds", type=positive, default=5, help="of count (5)")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    for name in arguments.names or NAMES:
        if name != "count" and (reason := missing()):
            verdicts.skipped(name, reason)
            continue
        try:
            {"jain": shares, "mimd": intervals, "count": stripe_counts}[name](arguments, verdicts)
        except Failed as problem:
            verdicts.failed(name, problem)
    verdicts.end()


class Alone:
    """Transfers on a path that nobody else uses."""

    def __init__(self, arguments, folder):
        self.arguments, self.lab, self.endless = arguments, Lab(arguments, folder), Endless(arguments, folder)

    def on(self):
        return Together(self.lab, self.endless, Path(self.arguments.rtt), self.arguments.seconds, warm=0)


def shares(arguments, verdicts):
    with Folder(arguments) as folder:
        alone = Alone(arguments, folder)
        for law in LAWS:
            run = alone.on().transfer("--congestion", law, "--stripes", "4").run()
            stripes = [stripe["bytes"] for stripe in run["summaries"][0]["stripes"]]
            verdicts.add(f"{law}: Jain's index of 4 stripes", jain(stripes), least=0.98, mbit=run["ours"],
                         mib=[count >> 20 for count in stripes], strained=run["strained"])


def intervals(arguments, verdicts):
    with Folder(arguments) as folder:
        together = Alone(arguments, folder).on()
        for interval in ("200ms", "400ms"):
            together.transfer("--congestion", f"mimd:T={interval}", "--stripes", "1")
        run = together.run()
        quick, slow = (said["bytes"] for said in run["summaries"])
        verdicts.add("mimd: T=200ms by T=400ms", quick / max(slow, 1), least=1.05, quick_mib=quick >> 20,
                     slow_mib=slow >> 20, mbit=run["ours"], strained=run["strained"])
