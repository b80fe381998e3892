"""A path that fails, and a transfer that goes on.

  dead      in mid-transfer nothing arrives in either direction for --dead seconds: from the path's return
            on, how long until data flow again; put and get must end identical
  feedback  10 % loss on the direction of the feedback alone for --seconds: the goodput, by that without
"""

import os
import subprocess

from bench_parts.lab import AROUND_S, Failed, Lab, Path, missing, once_more
from bench_parts.ours import Ours, summary
from bench_parts.path import milliseconds, one_of, size
from bench_parts.peers import Files
from bench_parts.place import Folder
from bench_parts.together import Endless, Together
from bench_parts.verdict import Verdicts, seconds, small_bench

NAMES = ("dead", "feedback")
BEGIN_S = 4.0  # when the path dies: the transfer runs at its rate by then
FLOWING_MBIT = 10.0  # more than probes of a path that is dead


def main(words):
    parser = small_bench("outage", __doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", type=one_of(NAMES), help="dead or feedback; default: both")
    parser.add_argument("--rtt", type=milliseconds, default="100ms")
    parser.add_argument("--dead", type=seconds, default=20)
    parser.add_argument("--size", type=size, default="1GiB")
    parser.add_argument("--seconds", type=seconds, default=120)
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    if reason := missing():
        verdicts.skipped("outage", reason)
        verdicts.end()
    with Folder(arguments) as folder:
        lab = Lab(arguments, folder)
        for name in arguments.names or NAMES:
            try:
                {"dead": dead, "feedback": feedback}[name](arguments, folder, lab, verdicts)
            except Failed as problem:
                verdicts.failed(name, problem)
    verdicts.end()


def dead(arguments, folder, lab, verdicts):
    files, ours = Files(folder, arguments.size), Ours(arguments, folder)
    os.link(files.source, os.path.join(ours.root, "source"))
    target = os.path.join(folder, "target")
    puts = ours.transfer("put", [files.source], "target"), os.path.join(ours.root, "target"), "forward"
    gets = ours.transfer("get", ["source"], target), target, "backward"
    for verb, (line, result, direction) in (("put", puts), ("get", gets)):
        found = once_more(lambda: through_death(arguments, lab, line, ours, files, result, direction))
        identical = found.pop("identical")
        verdicts.add(f"{verb}: seconds from the path's return to data", found.pop("late"), most=2, **found)
        verdicts.add(f"{verb}: identical", float(identical), least=1)


def through_death(arguments, lab, line, ours, files, result, direction):
    timetable = [{"at": f"{BEGIN_S:g}s", "dead": f"{arguments.dead:g}s"}]
    with files.fresh(result):
        run = lab.run(Path(arguments.rtt, timetable=timetable), line, [ours.server()],
                      arguments.dead + arguments.size / 1e7 + AROUND_S)
        identical = subprocess.run(["cmp", files.source, result]).returncode == 0
    back = BEGIN_S + arguments.dead
    flows = [row["seconds"] for row in run.series if row["seconds"] > back and row[f"{direction}_mbit"] > FLOWING_MBIT]
    if not flows:
        raise Failed("it was over before the path came back: take a larger --size")
    said = summary(run.stdout)
    return {"late": max(flows[0] - back, 0.0), "identical": identical,
            "before_mbit": run.mbit(direction, BEGIN_S - 1, BEGIN_S),
            "after_5s_mbit": run.mbit(direction, back + 4, back + 5), "seconds": said["seconds"],
            "lost": said["lost_packets"], "strained": run.strained}


def feedback(arguments, folder, lab, verdicts):
    endless = Endless(arguments, folder)

    def mbit(loss):
        path = Path(arguments.rtt, backward={"loss": loss})
        return Together(lab, endless, path, arguments.seconds, warm=0).transfer().run()
    without, lossy = mbit(0), mbit(0.1)
    verdicts.add("goodput with 10 % loss of feedback, by that without", lossy["ours"] / max(without["ours"], 1),
                 least=0.5, without=without["ours"], lossy=lossy["ours"],
                 strained=without["strained"] or lossy["strained"])
