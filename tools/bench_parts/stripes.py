"""How stripes and transfers share among themselves, without anybody else on the path.

  jain  Jain's index of the bytes of 4 stripes of one transfer, by `sabul` and by `sabul2003`
  mimd  two transfers of one stripe by `mimd` with T of 200 and 400 ms: the one that decides more often
        gets more, in the papers 1.1 to 1.5 times as much
"""

from bench_parts.lab import Failed, Lab, Path
from bench_parts.path import milliseconds
from bench_parts.place import Folder
from bench_parts.together import Endless, Together, jain
from bench_parts.verdict import Verdicts, small_bench

LAWS = ("sabul", "sabul2003")


def main(words):
    parser = small_bench("stripes", __doc__)
    parser.add_argument("--rtt", type=milliseconds, default="20ms")
    parser.add_argument("--seconds", type=float, default=40)
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    with Folder(arguments) as folder:
        lab, endless = Lab(arguments, folder), Endless(arguments, folder)

        def on():
            return Together(lab, endless, Path(arguments.rtt), arguments.seconds, warm=0)
        for law in LAWS:
            try:
                run = on().transfer("--congestion", law, "--stripes", "4").run()
                stripes = [stripe["bytes"] for stripe in run["summaries"][0]["stripes"]]
                verdicts.add(f"{law}: Jain's index of 4 stripes", jain(stripes), least=0.98, mbit=run["ours"],
                             mib=[count >> 20 for count in stripes], strained=run["strained"])
            except Failed as problem:
                verdicts.failed(law, problem)
        try:
            together = on()
            for interval in ("200ms", "400ms"):
                together.transfer("--congestion", f"mimd:T={interval}", "--stripes", "1")
            run = together.run()
            quick, slow = (said["bytes"] for said in run["summaries"])
            verdicts.add("mimd: T=200ms by T=400ms", quick / max(slow, 1), least=1.05, quick_mib=quick >> 20,
                         slow_mib=slow >> 20, mbit=run["ours"], strained=run["strained"])
        except Failed as problem:
            verdicts.failed("mimd", problem)
    verdicts.end()
