"""Strangers who send what they like to every port gain nothing and harm nobody."""

import json
import os
import socket
import struct
import subprocess
import sys

from harness import DONE, MIB, Case, Process, need_isolation, sanitized, wait_for
from network import Capture, Path, inside
from sessions import Session

DATA_PORTS = (30100, 30199)  # below those that the kernel gives to clients
AMPLIFICATION = 3
MOST_GROWTH_MIB = 24
ETH_P_ALL = 3
HELLO = 0x13  # the first byte of a packet: version 1, type 3


class Strangers(Case):
    SIZE = 48 * MIB

    def setUp(self):
        super().setUp()
        need_isolation()
        self.daemon = self.server(data_ports=f"{DATA_PORTS[0]}-{DATA_PORTS[1]}")

    def stranger(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stranger.py")
        process = Process([sys.executable, program, str(self.daemon.port), *map(str, DATA_PORTS)],
                          stdin=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def under_attack(self, *arguments):
        slowly = ("--rate-limit", "80Mbit/s")
        quiet = self.transfer(*arguments, *slowly)
        before = self.daemon.peak_now_mib()
        stranger = self.stranger()
        client = self.start(*arguments, *slowly)
        wait_for(lambda: "begun" in stranger.stdout, "the attack", alive=stranger.running)
        self.assertTrue(client.running(), "over before the attack began")
        self.assertEqual(client.wait(180), DONE, client.stdout + client.stderr)
        stranger.child.stdin.close()
        stranger.child.stdin = None
        self.assertEqual(stranger.wait(), 0, stranger.stderr)
        did = json.loads(stranger.stdout.splitlines()[-1])
        print(f"stranger: {did}", file=sys.stderr)
        self.assertTrue(all(did["sent"].values()), did)
        self.assertEqual(did["flows"], 4, did)
        for kind, ratio in did["most_ratio"].items():
            self.assertLessEqual(ratio, AMPLIFICATION, f"{kind}: {did}")
        if not sanitized():
            self.assertGreater(did["rate"], 5_000, "the attack was too slow to mean much")
            self.assertLess(self.daemon.peak_now_mib() - before, MOST_GROWTH_MIB, "the server grew")
            self.assertLess(client.peak_mib - quiet.peak_mib, MOST_GROWTH_MIB, "the client grew")
        self.assert_serving(self.daemon)

    def test_under_put(self):
        source = self.random_file("file", self.SIZE)
        self.under_attack("put", source, self.daemon.url("file"))
        self.assert_same(source, self.daemon.path("file"))

    def test_under_get(self):
        source = self.random_file("file", self.SIZE, folder="root")
        target = os.path.join(self.folder("back"), "file")
        self.under_attack("get", self.daemon.url("file"), target)
        self.assert_same(source, target)


class ControlPort(Case):
    """Random bytes, half a handshake, endless lines, many connections."""

    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def connect(self, source="127.0.0.66"):
        made = socket.create_connection((self.daemon.host, self.daemon.port), 10, (source, 0))
        self.addCleanup(made.close)
        return made

    def test_random_bytes(self):
        for beginning in (b"", b"\x16\x03\x01\x02\x00\x01", b"AUTH TLS\r\n", b"AUTH TLS\r\n\x16",
                          b"\xff\xf4\xff\xf2ABOR\r\n"):
            for _ in range(20):
                stranger = self.connect()
                try:
                    stranger.sendall(beginning + self.random.randbytes(self.random.randrange(20_000)))
                except OSError:
                    pass
                stranger.close()
        self.assert_serving(self.daemon)

    def test_commands_before_tls_are_refused(self):
        stranger = self.connect()
        replies = stranger.makefile("rb")
        self.assertEqual(replies.readline()[:3], b"220")
        for command, code in ((b"USER tester", b"530"), (b"PASS x", b"530"), (b"RETR /etc/passwd", b"530"),
                              (b"XFER direction=get; ", b"530"), (b"JOIN token=00;", b"530"), (b"NOOP", b"200")):
            stranger.sendall(command + b"\r\n")
            self.assertEqual(replies.readline()[:3], code, command)
        stranger.sendall(b"QUIT\r\n")
        self.assertEqual(replies.readline()[:3], b"221")

    def test_an_endless_line(self):
        before = self.daemon.peak_now_mib()
        stranger = self.connect()
        replies = stranger.makefile("rb")
        self.assertEqual(replies.readline()[:3], b"220")
        try:
            for _ in range(64):
                stranger.sendall(b"A" * MIB)
            stranger.sendall(b"\r\n")
            self.assertIn(replies.readline()[:1], (b"4", b"5", b""))
        except OSError:
            pass
        if not sanitized():
            self.assertLess(self.daemon.peak_now_mib() - before, MOST_GROWTH_MIB)
        self.assert_serving(self.daemon)

    def test_one_address_cannot_take_all_sessions(self):
        idle = []
        for _ in range(300):
            try:
                idle.append(self.connect())
            except OSError:
                break
        self.assertGreater(len(idle), 60)
        self.assert_serving(self.daemon)
        self.assertEqual(self.daemon.stderr.count("too many sessions"), 1, self.daemon.stderr)

    def test_strangers_of_some_addresses_keep_nobody_out(self):
        """Neither who logs in nor the stripes that join."""
        self.daemon = self.server(settings={"sessions_max": 8, "sessions_per_address": 4})
        strangers = [self.connect(f"127.0.0.{66 + number % 2}") for number in range(8)]
        for stranger in strangers:
            self.assertEqual(stranger.recv(4), b"220 ")
        source = self.random_file("file", 3 * MIB)
        self.transfer("put", source, self.daemon.url("file"), "--stripes", "2")
        self.assert_same(source, self.daemon.path("file"))
        for stranger in strangers[:2]:
            stranger.sendall(b"QUIT\r\n")
            self.assertIn(b"221", stranger.makefile("rb").read())
        self.assertIn("gave way", self.daemon.stderr)

    def test_many_without_tls_fill_no_log(self):
        def knock(source):
            stranger = self.connect(source)
            stranger.sendall(b"\x16" + bytes(20))
            try:
                while stranger.recv(4096):
                    pass
            except ConnectionResetError:
                pass

        for _ in range(100):
            knock("127.0.0.66")
        knock("127.0.0.67")
        wait_for(lambda: "127.0.0.67" in self.daemon.stderr, "a word of the other")
        self.assertEqual(self.daemon.stderr.count("no TLS"), 2, self.daemon.stderr)
        self.assertIn("; 99 more of such were left out", self.daemon.stderr)

    def test_stripes_and_grants_that_nobody_asked_for_fill_no_log(self):
        for command in (f"JOIN token={'00' * 16};stripe=0;epoch=1;", f"GRANT grant={'00' * 16};", "JOIN x"):
            for _ in range(3):
                session = Session(self, self.daemon, login=False)
                for _ in range(3):
                    self.assertIn(session.ask(command)[0], (501, 530))
                self.assertEqual(session.hear()[0], 0)
        self.assertEqual(self.daemon.stderr.count("refused"), 1, self.daemon.stderr)


class Amplification(Case):
    def test_a_forged_address_gets_little(self):
        """The stranger repeats HELLOs that never reached the server, from another address."""
        path = Path(self, loss=100)
        with inside(path.left):
            subprocess.run(["ip", "-n", path.left, "addr", "add", "10.91.0.66/24", "dev", "path0"], check=True)
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stranger.bind(("10.91.0.66", 0))
            sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        self.addCleanup(stranger.close)
        self.addCleanup(sniffer.close)
        sniffer.bind(("path0", ETH_P_ALL))  # what goes out is shown to no narrower protocol
        sniffer.settimeout(30)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        capture = Capture(self, interface="path0", network=path.right)
        source = self.random_file("file", 4 * MIB, folder="root")
        target = os.path.join(self.folder("back"), "file")
        client = self.start("get", server.url("file"), target, network=path.left)

        hellos = {}  # by destination port
        while len(hellos) < 4:
            packet = sniffer.recv(65536)
            if packet[0] >> 4 == 4 and packet[9] == 17 and packet[28] == HELLO:
                hellos[struct.unpack_from("!H", packet, 22)[0], packet[30:32]] = packet[28:]
        path.tell("set loss 0")
        for (port, _), hello in hellos.items():
            stranger.sendto(hello, (path.RIGHT, port))
        self.assertEqual(client.wait(120), DONE, client.stdout + client.stderr)
        self.assert_same(source, target)

        came, left = 0, 0
        for one in capture.end():
            if one.protocol == "udp" and one.source[0] == "10.91.0.66":
                came += len(one.payload)
            if one.protocol == "udp" and one.destination[0] == "10.91.0.66":
                left += len(one.payload)
                self.assertLessEqual(left, AMPLIFICATION * came)
        self.assertGreater(came, 0)
