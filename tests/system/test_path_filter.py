"""The bad path itself: what the other tests lean on."""

import select
import socket
import struct
import sys
import threading
import time

from harness import Case, wait_for
from network import Path, inside


def bound(network, address, kind=socket.SOCK_DGRAM):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with inside(network):
        made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if kind == socket.SOCK_DGRAM:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    made.bind((address, 0))
    made.settimeout(10)
    return made


def drain(receiver, quiet_s=0.5):
    """All datagrams until nothing came for a while."""
    got = []
    while select.select([receiver], [], [], quiet_s)[0]:
        got.append(receiver.recv(65536))
    return got


class PathFilter(Case):
    COUNT = 4000
    BYTES = 200
    IN_HAND = 200  # datagrams: fewer than a queue on the way holds

    def pair(self, path, left=Path.LEFT, right=Path.RIGHT):
        self.path = path
        sender, receiver = bound(path.left, left), bound(path.right, right)
        self.addCleanup(sender.close)
        self.addCleanup(receiver.close)
        return sender, receiver

    def carried(self):
        return self.path.stats()["left_to_right"]["udp_bytes"] // self.BYTES

    def flood(self, sender, receiver):
        got, before = [], self.carried()
        for sent in range(1, self.COUNT + 1):
            sender.sendto(struct.pack("!I", sent - 1) * (self.BYTES // 4), receiver.getsockname())
            if sent % self.IN_HAND == 0:
                wait_for(lambda: self.carried() >= before + sent, "the path", alive=self.path.process.running)
                got += drain(receiver, 0)
        return got + drain(receiver)

    def assert_about(self, count, percent):
        expected = self.COUNT * percent / 100
        self.assertGreater(count, expected * 0.6)
        self.assertLess(count, expected * 1.5)

    def test_a_clean_path_changes_nothing(self):
        for left, right in ((Path.LEFT, Path.RIGHT), (Path.LEFT6, Path.RIGHT6)):
            got = self.flood(*self.pair(Path(self), left, right))
            self.assertEqual(got, [struct.pack("!I", number) * 50 for number in range(self.COUNT)])

    def test_loss_duplicates_and_reordering(self):
        path = Path(self, loss=2, duplicate=3, reorder=5)
        got = [struct.unpack_from("!I", datagram)[0] for datagram in self.flood(*self.pair(path))]
        self.assert_about(self.COUNT - len(set(got)), 2)
        self.assert_about(len(got) - len(set(got)), 3)
        count = path.stats()["left_to_right"]
        self.assert_about(count["reordered"], 5)
        # How many were overtaken depends on how the machine spreads the flood.
        late = sum(1 for number, before in zip(got[1:], got) if number < before)
        self.assertGreater(late, 0)
        self.assertEqual(len(set(got)), self.COUNT - count["lost"])

    def test_damaged_datagrams_pass_the_kernel(self):
        for left, right in ((Path.LEFT, Path.RIGHT), (Path.LEFT6, Path.RIGHT6)):
            path = Path(self, flip=5, truncate=5)
            got = self.flood(*self.pair(path, left, right))
            count = path.stats()["left_to_right"]
            self.assertEqual(len(got), self.COUNT, "a damaged datagram was dropped by the kernel")
            whole = {struct.pack("!I", number) * 50 for number in range(self.COUNT)}
            short = sum(1 for datagram in got if len(datagram) < 200)
            flipped = sum(1 for datagram in got if len(datagram) == 200 and datagram not in whole)
            self.assertEqual(short, count["truncated"])
            self.assert_about(flipped, 5)

    def test_a_smaller_mtu_swallows(self):
        path = Path(self)
        path.tell("set mtu 1000")
        sender, receiver = self.pair(path)
        for size in (972, 973):
            sender.sendto(bytes(size), receiver.getsockname())
        self.assertEqual([len(datagram) for datagram in drain(receiver)], [972])
        self.assertEqual(path.stats()["left_to_right"]["too_big"], 1)

    def test_delay(self):
        path = Path(self, delay_ms=50)
        sender, receiver = self.pair(path)
        began = time.monotonic()
        sender.sendto(b"x", receiver.getsockname())
        receiver.recv(10)
        self.assertGreaterEqual(time.monotonic() - began, 0.05)

    def connections(self, path, count):
        listener = bound(path.right, Path.RIGHT, socket.SOCK_STREAM)
        listener.listen()
        self.addCleanup(listener.close)
        pairs = []
        for _ in range(count):
            client = bound(path.left, Path.LEFT, socket.SOCK_STREAM)
            client.connect(listener.getsockname())
            server = listener.accept()[0]
            server.settimeout(10)
            pairs.append((client, server))
            self.addCleanup(client.close)
            self.addCleanup(server.close)
        return listener.getsockname()[1], pairs

    def test_cut_connections_are_reset_on_both_ends(self):
        path = Path(self)
        port, pairs = self.connections(path, 3)
        self.assertEqual(path.condemn("cut-tcp", port, 2), 2)
        for client, server in pairs[1:]:
            client.sendall(b"x")
            for end in (client, server):
                with self.assertRaises(ConnectionResetError):
                    if end.recv(1) == b"":
                        self.fail("closed, not reset")
        client, server = pairs[0]
        client.sendall(b"still here")
        self.assertEqual(server.recv(100), b"still here")

    def test_stalled_connections_are_silent(self):
        path = Path(self)
        port, pairs = self.connections(path, 2)
        self.assertEqual(path.condemn("stall-tcp", port, 5), 1)
        client, server = pairs[1]
        client.sendall(b"x")
        wait_for(lambda: path.stats()["left_to_right"]["stalled"] > 1, "a retransmission dropped")
        self.assertEqual(select.select([server], [], [], 0)[0], [])
        client, server = pairs[0]
        client.sendall(b"still here")
        self.assertEqual(server.recv(100), b"still here")
        seen = path.connections()
        self.assertEqual([one["fate"] for one in seen], ["pass", "stall"])
        self.assertTrue(all(one["established"] for one in seen))

    def test_it_carries_hundreds_of_megabits(self):
        path = Path(self)
        _, [(client, server)] = self.connections(path, 1)
        size = 64 << 20
        sending = threading.Thread(target=client.sendall, args=(bytes(size),))
        began = time.monotonic()
        sending.start()
        got = 0
        while got < size:
            got += len(server.recv(1 << 20))
        sending.join()
        rate = size * 8 / (time.monotonic() - began) / 1e6
        print(f"path_filter: {rate:.0f} Mbit/s of TCP", file=sys.stderr, flush=True)
        self.assertEqual(got, size)
