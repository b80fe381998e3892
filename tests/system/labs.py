"""Tests in lambda-lab: a base for them."""

import json
import os
import shlex
import sys

from harness import DONE, USER, Case, Process, Settings, need, need_isolation, patience

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lab_peer.py")
USAGE, UNABLE = 2, 3  # lambda-lab's own


def peer(*words):
    """lab_peer.py as a line for the shell."""
    return f"exec {shlex.quote(sys.executable)} -B {shlex.quote(PEER)} " + " ".join(map(str, words))


class LabCase(Case):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(Settings.tools_dir, "lambda-lab")
        need(os.path.exists(self.program), "lambda-lab was not built")
        need_isolation()
        need(os.path.exists("/dev/net/tun"), "no /dev/net/tun")
        self.logs = self.folder("logs")
        self.counters_file = os.path.join(self.scratch, "counters.json")

    def start_lab(self, *options, main, **how):
        """main: a line for the shell."""
        process = Process([self.program, "run", *options, "--seed", str(self.seed), "--json", self.counters_file,
                           "--logs", self.logs, "--", "sh", "-c", main], env=self.environment, **how)
        self.addCleanup(process.kill)
        return process

    def lab(self, *options, main, code=DONE, seconds=60, **how):
        """A run's process after its end, with its counters."""
        process = self.start_lab(*options, main=main, **how)
        self.assertEqual(process.wait(patience(seconds)), code, process.stdout[-2000:] + process.stderr[-3000:])
        if os.path.exists(self.counters_file):
            with open(self.counters_file) as file:
                process.counters = json.load(file)
        return process

    def path(self, text):
        path = os.path.join(self.scratch, "path.yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    # A server of ours in the host `server`, and lines for its clients

    def serving(self):
        """Options of the lab; the server's root is the folder `root`."""
        root, state = shlex.quote(self.folder("root")), shlex.quote(self.folder("state"))
        return ("--on", "server", f"exec {shlex.quote(Settings.bin_dir)}/lambda-ftpd --root {root} --state {state} "
                f"--user {USER} --password-file {shlex.quote(self.client_password)} --listen 0.0.0.0:2811",
                "--ready", "server", "listening on")

    def remote(self, name):
        return f"lambda://{USER}@$LAB_HOST_server:2811/{name}"

    def ask(self, verb, *operands):
        """A client's line."""
        return (f"{shlex.quote(Settings.bin_dir)}/lambda-ftp {verb} --json --trust-new-host "
                f"--password-file {shlex.quote(self.client_password)} " + " ".join(map(os.fsdecode, operands)))
