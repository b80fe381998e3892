"""All benches of speed one after the other, each with its own settings, and what they found in one table: memory, disk,
segments, jumbo, stripes (count), transfers, huge, buffers, instructions, micro; or those that are named. Some two hours.
Of --json each record says of which part it is. What one lacks, it leaves out and says so, as when it runs alone.
"""

import json
import os
import subprocess
import sys
import tempfile

from bench_parts.measured import load
from bench_parts.path import one_of
from bench_parts.table import table
from bench_parts.verdict import Verdicts, positive, small_bench

PARTS = {name: (name,) for name in ("memory", "disk", "segments", "jumbo", "transfers", "huge", "buffers", "instructions",
                                    "micro")} | {"stripes": ("stripes", "count")}
WITHOUT = {"rounds": ("instructions",), "size": ("instructions", "micro")}
BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench")


def main(words):
    parser = small_bench("speed", __doc__)
    parser.add_argument("parts", nargs="*", type=one_of(PARTS), metavar="NAME", help="default: all")
    parser.add_argument("--rounds", type=positive, help="of each part; default: its own")
    parser.add_argument("--size", help="of what each moves; default: its own")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    print(load(), flush=True)
    for name in arguments.parts or PARTS:
        print(f"\n==== {name}", flush=True)
        run(name, arguments, verdicts)
    print()
    print(table(["part", "what", "", "asked", ""], rows(verdicts.records)), flush=True)
    verdicts.end()


def run(name, arguments, verdicts):
    command = [sys.executable, BENCH, *PARTS[name], "--bin", arguments.bin]
    command += ["--folder", arguments.folder] if arguments.folder else []
    for option, without in WITHOUT.items():
        if (value := getattr(arguments, option)) and name not in without:
            command += [f"--{option}", str(value)]
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "records.json")
        code = subprocess.run([*command, "--json", said], check=False).returncode
        told = []
        if os.path.exists(said):
            with open(said) as file:
                told = json.loads(file.read() or "[]")
    for record in told:
        verdicts.record({"part": name} | record)
    if code not in (0, 1) or not told:
        verdicts.failed(name, f"ended with {code}")


def rows(records):
    for record in records:
        part = record.get("part", record["what"])
        if "value" in record:
            wanted = f"≥ {record['least']:g}" if record["most"] is None else f"≤ {record['most']:g}"
            yield [part, record["what"], f"{record['value']:.3f}", wanted, "" if record["good"] else "MISS"]
        elif "error" in record or "skipped" in record:
            yield [part, record["what"], "", "", "FAIL" if "error" in record else "SKIPPED"]
