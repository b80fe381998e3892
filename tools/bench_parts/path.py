"""The matrix: our programs and their peers, one after the other on the same paths of lambda-lab.

Each run has the path to itself. Its goodput is of file bytes: of ours `transfer_gbit_per_s` of the
client's summary, set-up time apart; of iperf3 what the receiver got in all the time; of globus-url-copy
and UDT the file or what has arrived of it when the time is over. The queue's mean is that of the data's
direction over the whole run. Every run is a line of the file of --json at once; --resume goes on where a
cut bench stopped. Results of put and get are compared with their source by cmp.
"""

import argparse
import itertools
import json
import os
import sys

from bench_parts import table
from bench_parts.lab import Failed, Lab, Path, missing
from bench_parts.peers import PEERS, Files, make_peers
from bench_parts.place import Folder, add_options
from bench_parts.verdict import natural, opened, positive, seconds

VERBS = ("put", "get")
UNITS = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 10**3, "mb": 10**6, "gb": 10**9, "b": 1}


def size(text):
    unit = next((unit for unit in UNITS if text.lower().endswith(unit)), "")
    number = int(float(text[:len(text) - len(unit)]) * UNITS.get(unit, 1))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1 byte")
    return number


def milliseconds(text):
    if text.endswith("ms"):
        return float(text[:-2])
    if text.endswith("s"):
        return float(text[:-1]) * 1e3
    raise argparse.ArgumentTypeError(f"{text}: say the unit, as in 100ms")


def several(what):
    return lambda text: [what(part) for part in text.split(",")]


def one_of(names):
    def check(text):
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text}: there is {', '.join(names)}")
        return text
    return check


def parse_arguments(words):
    parser = argparse.ArgumentParser(prog="bench path", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtt", type=several(milliseconds), default="10ms,100ms,200ms")
    parser.add_argument("--loss", type=several(float), default="0,1e-4,1e-3,1e-2")
    parser.add_argument("--queue", type=several(str), default="0.2BDP,1BDP")
    parser.add_argument("--verbs", type=several(one_of(VERBS)), default="put,get")
    parser.add_argument("--peers", type=several(one_of(PEERS)), default=",".join(PEERS))
    parser.add_argument("--size", type=size, default="1GiB", help="of the file (1GiB)")
    parser.add_argument("--seconds", type=seconds, default=12, help="how long a peer may take, and iperf3 does (12)")
    parser.add_argument("--rounds", type=positive, default=1)
    parser.add_argument("--retries", type=natural, default=1, help="again where the lab was strained (1)")
    parser.add_argument("--stripes", type=positive, default=4)
    parser.add_argument("--law", help="--congestion of ours, where not the default")
    parser.add_argument("--globus-buffer", type=lambda text: 0 if text == "0" else size(text), metavar="SIZE",
                        help="-tcp-bs of globus-url-copy; 0: as the kernel tunes it; default: what was found best for "
                        "each congestion control")
    parser.add_argument("--json", metavar="FILE", help="a line for each run, written at its end")
    parser.add_argument("--resume", action="store_true", help="leave out what the file of --json has")
    parser.add_argument("--table", metavar="FILE", help="measure nothing: print the tables of such a file")
    add_options(parser)
    return parser.parse_args(words)


def read(file):
    with open(file) as lines:
        # The last line of a bench that was cut may be half.
        return [json.loads(line) for line in lines if line.endswith("\n")]


KEY = ("rtt", "loss", "queue", "verb", "peer", "round")


def main(words):
    arguments = parse_arguments(words)
    if arguments.table:
        print(table.tables(read(arguments.table)))
        return
    if reason := missing():
        print(f"SKIPPED path: {reason}")
        return
    records = []
    if arguments.json:
        if os.path.exists(arguments.json):
            if not arguments.resume:
                sys.exit(f"bench: {arguments.json} is there already; --resume goes on with it")
            records = [record for record in read(arguments.json) if not record.get("error")]
        write(arguments.json, records)
    with Folder(arguments) as folder:
        measure(arguments, folder, records)
    print(table.tables(records))
    sys.exit(1 if any(record.get("error") for record in records) else 0)


def write(name, records):
    """The file anew, so that what failed is not in it twice."""
    with opened(name + ".new") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    os.replace(name + ".new", name)


def measure(arguments, folder, records):
    lab, files = Lab(arguments, folder), Files(folder, arguments.size)
    peers, left_out = make_peers(arguments, files)
    for name, reason in left_out.items():
        say(f"{name}: left out, there is no {reason}")
    done = {tuple(record[name] for name in KEY) for record in records}
    for number, rtt, loss, queue, verb, peer in itertools.product(
            range(1, arguments.rounds + 1), arguments.rtt, arguments.loss, arguments.queue, arguments.verbs, peers):
        record = dict(zip(KEY, (rtt, loss, queue, verb, peer.name, number)))
        if tuple(record.values()) in done:
            continue
        record |= one_run(lab, peer, rtt, loss, queue, verb, arguments.retries)
        records.append(record)
        say(line(record))
        if arguments.json:
            with open(arguments.json, "a") as file:
                file.write(json.dumps(record) + "\n")


def one_run(lab, peer, rtt, loss, queue, verb, retries):
    direction = "forward" if verb == "put" else "backward"
    for again in range(retries + 1):
        try:
            run, found = peer.run(lab, Path(rtt, loss, queue), verb)
        except Failed as problem:
            return {"error": str(problem)}
        if not run.strained or again == retries:
            counted = run.counters[direction]
            return found | {"queue_ms": counted["queue_mean_ms"], "queue_p95_ms": counted["queue_p95_ms"],
                            "dropped": counted["dropped"], "lost": counted["lost"], "strained": run.strained,
                            "seconds": run.counters["seconds"], "tries": again + 1}
    raise AssertionError("not reached")


def line(record):
    begin = f"{record['rtt']:g} ms, loss {record['loss']:g}, {record['queue']}, {record['verb']} {record['peer']}: "
    if record.get("error"):
        return begin + "FAILED: " + record["error"]
    return (begin + f"{record['mbit']:.0f} Mbit/s, queue {record['queue_ms']:.2f} ms, dropped {record['dropped']}, "
            f"lost {record['lost']}" + (", STRAINED" if record["strained"] else ""))


def say(text):
    print(text, file=sys.stderr, flush=True)
