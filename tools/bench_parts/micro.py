"""What single steps of the data plane cost, by themselves and with all that they touch in the processor's caches
(Google Benchmark): a burst sealed and opened, by cipher and payload; a leaf digested; a packet's way through the
numbers of both ends; the list of losses; sets of places; the pacer; headers, ACK and NAK written and read. Medians of
--rounds repetitions, time of the processor. Needs libbenchmark-dev when our programs are built.
"""

import json
import re
import subprocess

from bench_parts.lab import Failed
from bench_parts.measured import load
from bench_parts.place import program
from bench_parts.table import table
from bench_parts.verdict import Verdicts, positive, seconds, small_bench

NAME = "lambda-micro"


def main(words):
    parser = small_bench("micro", __doc__)
    parser.add_argument("--filter", default=".", metavar="REGEX", help="of names, as seal_burst/.*payload:1440")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--seconds", type=seconds, default=0.2, help="of each repetition (0.2)")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    found = program(f"../peers/{NAME}", arguments)
    if found is None:
        verdicts.skipped("micro", f"no {NAME} beside {arguments.bin}: it is built where libbenchmark-dev is installed")
        verdicts.end()
    try:
        told = measure(found, arguments)
    except Failed as problem:
        verdicts.failed("micro", problem)
        verdicts.end()
    rows = []
    for one in told:
        name = re.sub("/cipher:[0-9]+", f"/{one.get('label', '')}", one["run_name"])
        figures = {"ns": one["cpu_time"]}
        if "items_per_second" in one:
            figures["ns_each"] = 1e9 / one["items_per_second"]
        if "bytes_per_second" in one:
            figures["gbyte_per_s"] = one["bytes_per_second"] / 1e9
        verdicts.note(name, **figures)
        rows.append([name] + [f"{figures[key]:.{digits}f}" if key in figures else ""
                              for key, digits in (("ns", 1), ("ns_each", 1), ("gbyte_per_s", 2))])
    if not rows:
        verdicts.failed("micro", f"nothing is named {arguments.filter}")
    print(f"medians of {arguments.rounds}, {load()}\n")
    print(table(["step", "ns", "ns for each packet or place", "GB/s"], rows), flush=True)
    verdicts.end()


def measure(found, arguments):
    """The medians, as Google Benchmark tells them; of one round, itself."""
    command = [found, "--benchmark_format=json", f"--benchmark_filter={arguments.filter}",
               f"--benchmark_repetitions={arguments.rounds}", f"--benchmark_min_time={arguments.seconds}"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    told = json.loads(said)["benchmarks"] if said.strip() else []
    for one in told:
        if one.get("error_occurred"):
            raise Failed(f"{one['run_name']}: {one['error_message']}")
    return [one for one in told if one.get("aggregate_name") == "median" or arguments.rounds == 1]
