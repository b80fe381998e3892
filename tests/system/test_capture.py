"""What an eavesdropper sees."""

import collections
import os
import struct

from harness import MIB, Case
from network import Capture


class OnTheWire(Case):
    STRIPES = 4

    def captured(self, *arguments, server):
        capture = Capture(self)
        self.transfer(*arguments, "--stripes", str(self.STRIPES), "--rate-limit", "400Mbit/s")
        return [one for one in capture.end() if one.protocol == "udp" or server.port in
                (one.source[1], one.destination[1])]

    def assert_striped(self, seen, server, size, get):
        flows, ids = collections.Counter(), collections.Counter()
        for one in seen:
            if one.protocol != "udp" or len(one.payload) < 100:
                continue
            client = one.destination if get else one.source
            flows[client, one.source if get else one.destination] += len(one.payload)
            ids[struct.unpack_from("!H", one.payload, 2)[0]] += len(one.payload)
        for counted in (flows, ids):
            self.assertEqual(len(counted), self.STRIPES, counted)
            self.assertGreaterEqual(sum(counted.values()), size)
            self.assertGreaterEqual(min(counted.values()), 0.5 / self.STRIPES * sum(counted.values()), counted)

        first = {}  # payload of each TCP connection's client
        for one in seen:
            if one.protocol == "tcp" and one.destination[1] == server.port and one.payload:
                first.setdefault(one.source, one.payload)
        feedback = [payload for payload in first.values() if payload[:3] in (b"\x16\x03\x01", b"\x16\x03\x03")]
        self.assertEqual(len(feedback), self.STRIPES, "TLS feedback connections")
        control = [payload for payload in first.values() if payload.startswith(b"AUTH TLS")]
        self.assertEqual(len(control), 1, first.values())

    def assert_hidden(self, seen, runs):
        """None of these 16-byte runs stands in any payload."""
        for one in seen:
            payload = one.payload
            for at in range(len(payload) - 15):
                if payload[at:at + 16] in runs:
                    self.fail(f"16 bytes of the file in clear at {at} of a {one.protocol} packet "
                              f"{one.source} -> {one.destination}")

    def assert_pattern_hidden(self, seen, pattern):
        rotations = {(pattern * 2)[at:at + 16] for at in range(16)}
        for one in seen:
            for run in rotations:
                self.assertNotIn(run, one.payload)

    def test_stripes_and_secrecy_of_random_bytes(self):
        server = self.server()
        size = 6 * MIB
        source = self.random_file("secret", size)
        with open(source, "rb") as file:
            content = file.read()
        # Any run of 31 bytes holds one of these whole.
        runs = {content[at:at + 16] for at in range(0, size, 16)}
        for get in (False, True):
            with self.subTest(get=get):
                url, back = server.url("secret"), os.path.join(self.folder("back"), "secret")
                seen = self.captured(*(("get", url, back) if get else ("put", source, url)), server=server)
                self.assert_striped(seen, server, size, get)
                self.assert_hidden(seen, runs)
        self.assert_same(source, back)

    def test_secrecy_of_a_pattern(self):
        server = self.server()
        pattern = bytes(self.random.sample(range(256), 16))
        source = self.file_with(os.path.join(self.folder("local"), "pattern"), pattern * (32 * MIB // 16))
        seen = self.captured("put", source, server.url("pattern"), server=server)
        self.assert_striped(seen, server, 32 * MIB, False)
        self.assert_pattern_hidden(seen, pattern)
        self.assertTrue(any(one.protocol == "udp" for one in seen))

    def test_the_capture_would_see_it(self):
        """Without encryption the same check fails: it can."""
        server = self.server()
        pattern = bytes(self.random.sample(range(256), 16))
        source = self.file_with(os.path.join(self.folder("local"), "pattern"), pattern * (MIB // 16))
        seen = self.captured("put", "--protection", "safe", source, server.url("pattern"), server=server)
        with self.assertRaises(AssertionError):
            self.assert_pattern_hidden(seen, pattern)

    def test_names_and_passwords_are_hidden(self):
        server = self.server()
        source = self.random_file("a-name-that-tells-a-lot", 1000)
        capture = Capture(self)
        self.transfer("put", source, server.url("a-name-that-tells-a-lot"))
        self.transfer("get", server.url("a-name-that-tells-a-lot"), self.folder("back"))
        everything = b"".join(one.payload for one in capture.end())
        self.assertIn(b"AUTH TLS", everything)
        for secret in (b"a-name-that-tells-a-lot", b"correct horse", b"USER "):
            self.assertNotIn(secret, everything)
