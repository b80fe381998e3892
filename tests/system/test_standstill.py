"""Where nothing moves, a user hears why within seconds."""

import contextlib
import json
import os
import pty
import signal
import subprocess

from copies import CopyCase
from harness import CUT, MIB, Case, need, need_isolation, need_program, wait_for


class Dropping(Case):
    def setUp(self):
        super().setUp()
        need_isolation()

    def drop_udp(self, match):
        nft = need_program("nft")
        made = subprocess.run([nft, "add table inet dropping; add chain inet dropping in { type filter hook input "
                                    f"priority 0; }}; add rule inet dropping in udp {match} drop"], capture_output=True)
        need(made.returncode == 0, f"nft cannot drop here: {made.stderr.decode().strip()[:200]}")
        self.addCleanup(subprocess.run, [nft, "delete table inet dropping"], check=True)

    def assert_told(self, client, why):
        wait_for(lambda: why in client.stderr, why, 30, alive=client.running)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        self.assertEqual(client.stderr.count("nothing moves"), 1, client.stderr)


class Standstill(Dropping):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def test_a_firewall_before_a_put(self):
        self.drop_udp("dport 50000-51000")
        source = self.random_file("file", 4 * MIB)
        self.assert_told(self.start("put", source, self.daemon.url("file")), "the receiver gets none of our UDP packets")

    def test_a_firewall_before_a_get(self):
        self.drop_udp("sport 50000-51000")
        self.random_file("file", 4 * MIB, folder="root")
        client = self.start("get", self.daemon.url("file"), self.folder("back"))
        self.assert_told(client, "none of the sender's UDP packets arrives")

    def test_the_live_line(self):
        self.drop_udp("dport 50000-51000")
        source = self.random_file("file", 4 * MIB)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        client = self.start("put", source, self.daemon.url("file"), launcher=(
            "sh", "-c", f'exec "$@" 2>/proc/{os.getpid()}/fd/{theirs}', "sh"))
        os.set_blocking(ours, False)
        said = bytearray()

        def told():
            with contextlib.suppress(BlockingIOError):
                said.extend(os.read(ours, 4096))
            return b"nothing moves: the receiver gets none" in said
        wait_for(told, "the reason on the terminal", 30, alive=client.running)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT)
        os.close(theirs)


class BetweenServers(Dropping, CopyCase):
    WHY = "the sender sends nothing: it is at work on its disk, or gets none of our UDP packets"

    def setUp(self):
        super().setUp()
        self.drop_udp("dport 1-65535")
        self.a, self.b = self.pair()
        os.mkdir(self.a.path("tree"))
        self.file_with(self.a.path("tree/file"), self.random.randbytes(4 * MIB))

    def test_a_firewall_before_a_copy(self):
        client = self.start("copy", *self.both(), self.a.url("tree"), self.b.url("tree"))
        wait_for(lambda: "nothing moves" in client.stderr, "the reason", 30, alive=client.running)
        listed = self.client("copies", self.b.url()).events
        self.assertEqual([event["standstill"] for event in listed if event["event"] == "copy"], [self.WHY])
        self.assertIn(", nothing moves: " + self.WHY + ": from ", self.client("copies", self.b.url(), json=False).stdout)
        wait_for(lambda: "% of 4.00 MiB" in client.stderr, "a line of progress", alive=client.running)
        self.assertNotIn("RTT", client.stderr)  # none was measured
        self.assert_told(client, self.WHY + " (says the destination server)")

    def test_a_firewall_before_a_job(self):
        job = os.path.join(self.scratch, "job.yaml")
        keys = {"sources": self.a.url("tree/"), "destinations": self.b.url("there"),
                "source_password_file": self.client_password, "state": "job.db"}
        with open(job, "w") as file:
            file.writelines(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
        run = self.start("replicate", job)
        wait_for(lambda: self.WHY + " (says the destination server)" in self.client("replicate", job, "status").stdout,
                 "the reason in the status", 30, alive=run.running)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(), CUT, run.stderr)
