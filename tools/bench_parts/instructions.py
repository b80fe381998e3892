"""Instructions in user space for each packet of the steady state, at the sender and at the receiver, as callgrind
counts them: a put over loopback from /dev/shm to /.null by one stripe, with real programs. Two sizes are run, and
what the larger took more is divided by the packets that it sent more, so that start, login and end cancel out. The
figures repeat within some percent on a busy machine too.

Below valgrind files are read by threads (it knows no io_uring), and a processor without VAES and AVX-512 is seen: the
cipher takes more instructions than it does outside. Needs valgrind and cc, x86-64.
"""

import collections
import functools
import os
import re
import shutil
import subprocess
import tempfile

from bench_parts.hosts import LOOPBACK
from bench_parts.ours import summary
from bench_parts.path import one_of, several
from bench_parts.place import Folder, make_random, own
from bench_parts.processes import run_to_end, stop
from bench_parts.server import port_of
from bench_parts.rounds import in_turn
from bench_parts.table import table
from bench_parts.verdict import Verdicts, positive, small_bench

PROTECTIONS = ("private", "clear")
MEMORY = "/dev/shm"
LONGEST_START_S, LONGEST_RUN_S = 120, 900
# Where the instructions lie: objects by what they do.
PARTS = (("cipher", "libcrypto|libIPSec_MB"), ("digest", "libxxhash"), ("ours", "lambda-ftp"), ("libc", ""))


def main(words):
    parser = small_bench("instructions", __doc__)
    parser.add_argument("--payloads", type=several(positive), default="1440,65475", metavar="BYTES,...")
    parser.add_argument("--protections", type=several(one_of(PROTECTIONS)), default="private,clear")
    parser.add_argument("--packets", type=positive, default=20_000, help="by which the larger run is larger")
    arguments = parser.parse_args(words)
    verdicts = Verdicts(arguments.json)
    missing = [name for name in ("valgrind", "cc") if not shutil.which(name)]
    if missing:
        verdicts.skipped("instructions", f"not installed: {', '.join(missing)}")
        verdicts.end()
    with Folder(arguments) as folder:
        ways = {f"{protection}, {payload}": functools.partial(case, arguments, folder, protection, payload)
                for protection in arguments.protections for payload in arguments.payloads}
        found = in_turn("instructions", ways, 1, verdicts, measured=False)
    rows = []
    for name, (result,) in found.items():
        verdicts.note(name, **result)
        for end in ("sender", "receiver"):
            counts = result[end]
            rows.append([name, end, f"{sum(counts.values()):.0f}"] + [f"{counts[part]:.0f}" for part, _ in PARTS])
    print(f"instructions in user space for each packet, over {arguments.packets} packets or a little more\n")
    print(table(["payload", "end", "all"] + [name for name, _ in PARTS], rows), flush=True)
    verdicts.end()


def case(arguments, folder, protection, payload):
    """By end and part: instructions for each packet."""
    runs = [Run(arguments, folder, protection, payload, size)
            for size in (payload * arguments.packets // 2, payload * arguments.packets * 3 // 2)]
    packets = runs[1].packets - runs[0].packets
    return {"packets": packets} | {
        end: {name: (runs[1].counts[end][name] - runs[0].counts[end][name]) / packets for name, _ in PARTS}
        for end in ("sender", "receiver")}


class Run:
    """One put: what it sent, and what each end spent."""

    def __init__(self, arguments, folder, protection, payload, size):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.environment = dict(os.environ, HOME=self.folder, LD_PRELOAD=old_calls(folder))
        password = self.write("password", "only for this run\n")
        settings = self.write("settings.yaml", "io_uring: false\nallow_null: true\n")
        os.mkdir(os.path.join(self.folder, "root"))
        serve = self.counted("receiver", own("lambda-ftpd", arguments), "--config", settings, "--root",
                             os.path.join(self.folder, "root"), "--state", os.path.join(self.folder, "state"), "--user",
                             "bench", "--password-file", password, "--listen", "127.0.0.1:0")
        log = os.path.join(self.folder, "receiver.log")
        with open(log, "wb") as said:
            server = LOOPBACK.start(serve, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=self.environment)
        try:
            port = port_of(server, log, LONGEST_START_S)
            with tempfile.TemporaryDirectory(prefix="lambda-bench-", dir=MEMORY) as memory:
                source = make_random(os.path.join(memory, "source"), size)
                put = self.counted("sender", own("lambda-ftp", arguments), "put", "--no-uring", "--json", "--quiet",
                                   "--trust-new-host", "--stripes", "1", "--cipher", "aes-128-gcm", "--password-file",
                                   password, "--payload", str(payload), "--protection", protection, source,
                                   f"lambda://bench@127.0.0.1:{port}/.null")
                self.packets = summary(run_to_end(put, self.environment, LONGEST_RUN_S)["said"])["sent_packets"]
        finally:
            stop(server)
        self.counts = {end: counts_of(os.path.join(self.folder, end + ".callgrind")) for end in ("sender", "receiver")}

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as file:
            file.write(text)
        return path

    def counted(self, end, *command):
        return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/{end}.callgrind", *command]


def old_calls(folder):
    library = os.path.join(folder, "old_calls.so")
    if not os.path.exists(library):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old_calls.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def counts_of(file):
    """Instructions by part: each object's own, as the file's format has them (its line behind calls= is what the
    called ones took)."""
    counts, names = collections.Counter(), {}
    part, skip = PARTS[-1][0], False
    with open(file) as lines:
        for line in lines:
            if found := re.match(r"(c?ob)=\((\d+)\)(?: (.+))?", line):
                which, number, path = found.groups()
                if path:
                    names[number] = next(name for name, mark in PARTS if re.search(mark, os.path.basename(path)))
                if which == "ob":
                    part = names[number]
            elif line.startswith("calls="):
                skip = True
            elif found := re.match(r"[+\-*\d]\S* (\d+)", line):
                if not skip:
                    counts[part] += int(found.group(1))
                skip = False
    return counts
