"""The verdict names what holds a transfer back: bottlenecks that are known, built for real, of a strength
that the seed draws."""

import os
import random
import shlex
import signal
import sys

from cgroups import rate_of_disk, share_of_cpu
from disks import Image
from harness import DONE, MIB, USER, Result, Settings, need, need_isolation, need_program, sanitized, wait_for
from labs import LabCase

SEEDS = 3
# Ahead of whatever else the machine does: else its load is what holds a transfer back, and the verdict
# says so.
PROMPT = ("chrt", "--fifo", "1")


def to_mbit(bits):
    return f"{bits / 1e6:.3f}Mbit/s"


class Verdicts(LabCase):
    """Each set-up moves for some seconds and returns the summary."""

    alone = True

    scratch_in = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk of the machine's own

    def summary(self, result):
        self.assertEqual(result.code, DONE, str(result))
        return result.summary

    def put(self, server, size, *options, launcher=PROMPT):
        source = self.random_file("source", size)
        return self.summary(self.client("put", *options, source, server.url("target"), launcher=launcher))

    def prompt_server(self):
        return self.server(launcher=PROMPT)

    def in_lab(self, draw, size, *options, path, settings=None):
        config = os.path.join(self.scratch, "lab.yaml")
        with open(config, "w") as file:
            file.writelines(f"{key}: {value}\n" for key, value in (settings or {}).items())
        source = self.random_file("source", size)
        root, state = (shlex.quote(self.folder(name)) for name in ("root", "state"))
        serving = ("--on", "server", f"exec {shlex.quote(Settings.bin_dir)}/lambda-ftpd --config {config} --root {root} "
                   f"--state {state} --user {USER} --password-file {shlex.quote(self.client_password)} "
                   "--listen 0.0.0.0:2811", "--ready", "server", "listening on")
        run = self.lab(*path, *serving, seconds=120, launcher=PROMPT,
                       main=self.ask("put", *options, source, self.remote(f"target{draw.randrange(1 << 30)}")))
        return self.summary(Result(run))

    # The set-ups

    def source_disk(self, draw):
        rate = draw.randint(8 * MIB, 20 * MIB)
        disk = Image(self, ["mkfs.ext4", "-q", "-m", "0"], 128 * MIB)
        source = os.path.join(disk.folder, "source")
        with open(source, "wb") as file:
            file.write(draw.randbytes(int(2.5 * rate)))
            os.fsync(file.fileno())
        return self.summary(self.client("put", source, self.server().url("target"),
                                        launcher=rate_of_disk(self, disk.folder, rate, writing=False)))

    def destination_disk(self, draw):
        rate = draw.randint(8 * MIB, 20 * MIB)
        disk = Image(self, ["mkfs.ext4", "-q", "-m", "0"], 128 * MIB)
        server = self.server(root=disk.folder, launcher=rate_of_disk(self, disk.folder, rate, writing=True))
        return self.put(server, int(2.5 * rate))

    def sender_cpu(self, draw):
        return self.put(self.prompt_server(), 64 * MIB, launcher=share_of_cpu(self, draw.uniform(0.05, 0.1)))

    def receiver_cpu(self, draw):
        return self.put(self.server(launcher=share_of_cpu(self, draw.uniform(0.05, 0.1))), 192 * MIB)

    def receive_buffer(self, draw):
        size = draw.choice([64, 80, 96]) * 1024
        return self.in_lab(draw, 48 * MIB, "--stripes", "2", settings={"socket_buffer": size},
                           path=("--rate", "1Gbit/s", "--rtt", f"{draw.randint(4, 8)}ms"))

    def path_rate(self, draw):
        rate = draw.randint(15, 60) * 10**6
        return self.in_lab(draw, int(rate / 8 * 5), path=("--rate", to_mbit(rate), "--rtt", "20ms"))

    def path_loss(self, draw):
        return self.in_lab(draw, 6 * MIB, "--congestion", "reno",
                           path=("--rate", "500Mbit/s", "--rtt", f"{draw.randint(40, 60)}ms",
                                 "--loss", f"{draw.uniform(0.008, 0.02):.4f}"))

    def path_window(self, draw):
        return self.in_lab(draw, 20 * MIB, "--window", f"{draw.randint(256, 512)}KiB",
                           path=("--rate", "500Mbit/s", "--rtt", f"{draw.randint(30, 60)}ms"))

    def receiver_stall(self, draw):
        server = self.prompt_server()
        source = self.random_file("source", 64 * MIB)
        client = self.start("put", "--rate-limit", "400Mbit/s", source, server.url("target"), launcher=PROMPT)
        self.wait_for_part(server.root, client)
        server.signal(signal.SIGSTOP)
        # No event tells the end of a stall: it has to last.
        stop = draw.uniform(4, 6)
        begun = os.times().elapsed
        try:
            wait_for(lambda: os.times().elapsed - begun > stop, "the end of the stall")
        finally:
            server.signal(signal.SIGCONT)
        client.wait()
        return self.summary(Result(client))

    def rate_limit(self, draw):
        rate = draw.randint(40, 120) * 10**6
        return self.put(self.prompt_server(), int(rate / 8 * 2.5), "--rate-limit", to_mbit(rate))

    def law(self, draw):
        rate = draw.randint(40, 120) * 10**6
        return self.put(self.prompt_server(), int(rate / 8 * 2.5), "--congestion", "fixed", "--initial-rate",
                        to_mbit(rate))

    SETUPS = ("source_disk", "destination_disk", "sender_cpu", "receiver_cpu", "receive_buffer", "path_rate", "path_loss",
              "path_window", "receiver_stall", "rate_limit", "law")

    def check(self, name, seed):
        summary = getattr(self, name)(random.Random(f"{name} {seed}"))
        verdict = summary["verdict"]
        self.assertEqual(verdict["cause"], name, f"SEED={seed}: {verdict}")
        self.assertGreater(verdict["share"], 0.3, str(verdict))
        self.assertTrue(verdict["why"] and verdict["remedy"], str(verdict))
        return verdict

    def setUp(self):
        super().setUp()
        need(not sanitized(), "a sanitizer's programs are held back by themselves")
        need_program(PROMPT[0])
        need_isolation()  # root, for the processor's first place

    # A push

    def test_rate_limit(self):
        verdict = self.check("rate_limit", self.seed)
        self.assertIn("rate limit", verdict["why"])

    def test_sender_cpu(self):
        self.check("sender_cpu", self.seed)

    def test_destination_disk(self):
        self.check("destination_disk", self.seed)

    def test_short_transfers_are_not_judged(self):
        server = self.server()
        summary = self.put(server, 10_000)
        self.assertEqual(summary["verdict"]["cause"], "too_short")
        result = self.client("get", "--verbose", server.url("target"), os.path.join(self.scratch, "got"))
        self.assertIn("too short to tell", result.stderr)

    # All

    def test_every_bottleneck(self):
        need(Settings.long, "takes minutes")
        need_isolation()
        right = tried = 0
        for name in self.SETUPS:
            for seed in range(self.seed, self.seed + SEEDS):
                with self.subTest(name=name, seed=seed):
                    tried += 1
                    self.check(name, seed)
                    right += 1
                self.doCleanups()
                self.setUp()
        print(f"{right} of {tried} verdicts right", file=sys.stderr)
