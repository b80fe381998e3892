"""Where nothing moves, a user hears why within seconds."""

import contextlib
import os
import pty
import signal
import subprocess

from harness import CUT, MIB, Case, need, need_isolation, need_program, wait_for


class Standstill(Case):
    def setUp(self):
        super().setUp()
        need_isolation()
        self.daemon = self.server()

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
