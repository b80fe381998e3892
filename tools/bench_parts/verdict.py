"""What the smaller benches print: each figure beside what it should be."""

import argparse
import json
import sys

from bench_parts.place import add_options


def small_bench(name, description):
    """A parser with the options that all of them have."""
    parser = argparse.ArgumentParser(prog=f"bench {name}", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    add_options(parser)
    return parser


def positive(text):
    """An argument: a number from 1 on."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return number


def seconds(text):
    """An argument: a time above 0."""
    if not (number := float(text)) > 0:
        raise argparse.ArgumentTypeError(f"{text}: above 0")
    return number


def natural(text):
    """An argument: a number from 0 on."""
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text}: at least 0")
    return number


def opened(name):
    """For what is said later: a file that can't be written is found out before anything is measured."""
    try:
        return open(name, "w")
    except OSError as problem:
        sys.exit(f"bench: {name}: {problem.strerror}; name another by --json")


class Verdicts:
    """json_file: holds all that was said so far, whatever becomes of the bench."""

    def __init__(self, json_file):
        self.records, self.file = [], json_file and opened(json_file)

    def add(self, what, value, least=None, most=None, **more):
        """A figure that should be at least something, or at most, or is told alone; more: what it was made from."""
        good = (least is None or value >= least) and (most is None or value <= most)
        told = least is None and most is None
        wanted = "no aim" if told else f"at most {most:g}" if least is None else f"at least {least:g}"
        details = ", ".join(f"{name} {number:.4g}" if isinstance(number, float) else f"{name} {number}"
                            for name, number in more.items())
        print(f"{'told' if told else 'ok  ' if good else 'MISS'} {what}: {value:.3f} ({wanted})" + (f"; {details}" if details else ""),
              flush=True)
        self.record({"what": what, "value": value, "least": least, "most": most, "good": good} | more)

    def note(self, what, **figures):
        """What was measured and is held against nothing: for --json alone."""
        self.record({"what": what, "good": True} | figures)

    def skipped(self, what, reason):
        print(f"SKIPPED {what}: {reason}", flush=True)
        self.record({"what": what, "skipped": reason, "good": True})

    def failed(self, what, problem):
        print(f"FAIL {what}: {problem}", flush=True)
        self.record({"what": what, "error": str(problem), "good": False})

    def record(self, record):
        self.records.append(record)
        if self.file:
            self.file.seek(0)
            json.dump(self.records, self.file, indent=1)
            self.file.flush()

    def end(self):
        sys.exit(0 if all(record["good"] for record in self.records) else 1)
