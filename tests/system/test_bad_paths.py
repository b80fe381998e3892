"""Paths that lose, double, reorder, damage and shrink what they carry."""

import os

from harness import MIB, Case
from network import Path

PROTECTIONS = ("private", "safe", "clear")


class BadPaths(Case):
    SIZE = 24 * MIB

    def over(self, path, *options, size=None, seconds=180):
        """Put and get over this path; both clients' results."""
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        source = self.random_file("file", size or self.SIZE)
        target = os.path.join(self.folder("back"), "file")
        put = self.transfer("put", *options, source, server.url("file"), network=path.left, seconds=seconds)
        self.assert_same(source, server.path("file"))
        got = self.transfer("get", *options, server.url("file"), target, network=path.left, seconds=seconds)
        self.assert_same(source, target)
        self.assertTrue(server.running())
        return put, got

    def assert_struck(self, path, *kinds):
        for direction, count in path.stats().items():
            for kind in kinds:
                self.assertGreater(count[kind], 0, f"the path never did its worst: {kind} {direction}")

    def through_everything(self, protection):
        path = Path(self, loss=1, duplicate=1, reorder=5, truncate=0.5, delay_ms=2)
        put, got = self.over(path, "--protection", protection)
        self.assert_struck(path, "lost", "duplicated", "reordered", "truncated")
        for result in (put, got):
            self.assertGreater(result.summary["lost_packets"], 0)
            self.assertGreater(result.summary["retransmitted_packets"], 0)

    def test_everything_private(self):
        self.through_everything("private")

    def test_everything_safe(self):
        self.through_everything("safe")

    def test_everything_clear(self):
        self.through_everything("clear")

    def test_flipped_bits_are_refused_and_counted(self):
        for protection in PROTECTIONS:
            with self.subTest(protection=protection):
                path = Path(self, flip=2)
                put, got = self.over(path, "--protection", protection, size=8 * MIB)
                flipped = path.stats()
                for result, direction in ((put, "left_to_right"), (got, "right_to_left")):
                    refused = result.summary.get("refused_packets", 0)
                    self.assertGreater(refused, 0, "not counted: " + str(result))
                    self.assertLessEqual(refused, sum(one["flipped"] for one in flipped.values()))

    def test_a_long_round_trip(self):
        self.over(Path(self, delay_ms=40, loss=0.1), size=16 * MIB)

    def test_small_files_over_a_bad_path(self):
        path = Path(self, loss=2, reorder=5, duplicate=1)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        sources = [self.random_file(f"file-{number}", self.random.randrange(200_000)) for number in range(60)]
        self.transfer("put", *sources, server.url("into"), files=60, network=path.left)
        for number, source in enumerate(sources):
            self.assert_same(source, server.path(f"into/file-{number}"))

    def test_the_path_shrinks_in_mid_transfer(self):
        path = Path(self)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        source = self.random_file("file", 16 * MIB)
        client = self.start("put", "--rate-limit", "40Mbit/s", source, server.url("file"), network=path.left)
        path.wait_for_udp("left_to_right", 4 * MIB, client)
        path.tell("set mtu 1300")
        self.assertEqual(client.wait(180), 0, client.stderr)
        self.assert_same(source, server.path("file"))
        self.assertGreater(path.stats()["left_to_right"]["too_big"], 0)

    def test_a_short_silence_of_the_whole_path(self):
        path = Path(self)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        source = self.random_file("file", 16 * MIB)
        client = self.start("put", "--rate-limit", "40Mbit/s", source, server.url("file"), network=path.left)
        path.wait_for_udp("left_to_right", 4 * MIB, client)
        path.tell("dead on")
        path.wait_for_silence(client)
        path.tell("dead off")
        self.assertEqual(client.wait(180), 0, client.stderr)
        self.assert_same(source, server.path("file"))
