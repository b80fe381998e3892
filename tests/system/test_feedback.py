"""Feedback connections are cut or stall in mid-transfer; others take over."""

import os
import time

from harness import DONE, MIB, Case, patience, wait_for
from network import Path

STRIPES = 4
TAKEOVER_S = 2.0


class Feedback(Case):
    SIZE = 24 * MIB

    def strike(self, how, get, count):
        path = Path(self, delay_ms=1)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        where = self.folder("root" if get else "local")
        source = self.random_file("file", self.SIZE, folder=where)
        target = os.path.join(self.folder("back"), "file") if get else server.path("file")
        ends = (server.url("file"), target) if get else (source, server.url("file"))
        direction = "right_to_left" if get else "left_to_right"
        client = self.start("get" if get else "put", "--stripes", str(STRIPES), "--rate-limit", "40Mbit/s", *ends,
                            network=path.left)
        path.wait_for_udp(direction, 4 * MIB, client)
        before = path.connections()
        self.assertEqual(len(before), 1 + STRIPES, before)
        struck_at = time.monotonic()  # the path's clock too
        self.assertEqual(path.condemn(how, server.port, count), count)

        def takeovers():
            fresh = [one for one in path.connections()[len(before):] if one["established"]]
            return fresh if len(fresh) >= count else None
        for one in wait_for(takeovers, "new feedback connections", 20, alive=client.running)[:count]:
            self.assertLess(one["opened"] - struck_at, patience(TAKEOVER_S), one)
        self.assertEqual(client.wait(120), DONE, client.stdout + client.stderr)
        self.assert_same(source, target)
        self.assert_serving_there(server, path)

    def assert_serving_there(self, server, path):
        source = self.random_file("next", 100_000)
        self.transfer("put", source, server.url("next"), network=path.left)
        self.assert_same(source, server.path("next"))

    def test_all_cut_under_put(self):
        self.strike("cut-tcp", False, STRIPES)

    def test_all_cut_under_get(self):
        self.strike("cut-tcp", True, STRIPES)

    def test_one_cut_under_put(self):
        self.strike("cut-tcp", False, 1)

    def test_all_stalled_under_put(self):
        self.strike("stall-tcp", False, STRIPES)

    def test_all_stalled_under_get(self):
        self.strike("stall-tcp", True, STRIPES)

    def test_one_stalled_under_get(self):
        self.strike("stall-tcp", True, 1)

    def test_cut_again_and_again(self):
        path = Path(self, delay_ms=1, loss=0.5)
        server = self.server(network=path.right, listen=f"{path.RIGHT}:0")
        source = self.random_file("file", self.SIZE)
        client = self.start("put", "--stripes", str(STRIPES), "--rate-limit", "40Mbit/s", source,
                            server.url("file"), network=path.left)
        for number in range(1, 6):
            path.wait_for_udp("left_to_right", number * 3 * MIB, client)
            known = len(path.connections())
            path.condemn("cut-tcp" if number % 2 else "stall-tcp", server.port, 2)
            wait_for(lambda: len(path.connections()) >= known + 1, "a new feedback connection", 20,
                     alive=client.running)
        self.assertEqual(client.wait(120), DONE, client.stdout + client.stderr)
        self.assert_same(source, server.path("file"))
