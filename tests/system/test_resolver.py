"""Servers by their names, while the machine's name server says nothing."""

import os
import signal
import socket
import subprocess

from disks import run
from harness import NO_SESSION, PATIENCE_S, Case, need, need_isolation, need_program, patience

# Longer than this test, and than the 20 s in which a session is to stand.
RESOLVER = "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n"


class Resolver(Case):
    def setUp(self):
        super().setUp()
        need_isolation()
        need(os.path.exists("/etc/resolv.conf"), "no /etc/resolv.conf")
        settings = os.path.join(self.folder("etc"), "resolv.conf")
        with open(settings, "w") as file:
            file.write(RESOLVER)
        run(need_program("mount"), "--bind", settings, "/etc/resolv.conf")
        self.addCleanup(subprocess.run, ["umount", "/etc/resolv.conf"], check=True)
        self.name_server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.name_server.close)
        self.name_server.bind(("127.0.0.1", 53))
        self.name_server.settimeout(patience(PATIENCE_S))

    def asks(self, host):
        client = self.start("ls", f"lambda://tester@{host}.invalid/")
        while host.encode() not in self.name_server.recv(1500):
            pass  # it asks for an address of either kind
        return client

    def test_a_signal_ends_the_wait(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                client = self.asks(f"signal-{int(number)}")
                client.signal(number)
                self.assertEqual(client.wait(10), NO_SESSION)
                self.assertIn("interrupted", client.stderr)

    def test_the_wait_has_an_end(self):
        client = self.asks("nowhere")
        self.assertEqual(client.wait(60), NO_SESSION)
        self.assertIn("nowhere.invalid:2811: the resolver did not find its address in time", client.stderr)
