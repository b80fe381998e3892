"""Control, data and URLs over IPv6, between two namespaces."""

import os

from harness import MIB, Case
from network import Capture, Path


class Ipv6(Case):
    def test_put_and_get(self):
        path = Path(self)
        server = self.server(network=path.right, listen=f"[{path.RIGHT6}]:0")
        self.assertEqual(server.host.strip("[]"), path.RIGHT6)
        capture = Capture(self, interface="path0", network=path.right)
        url = server.url("file", host=f"[{path.RIGHT6}]")
        source = self.random_file("file", 20 * MIB)
        target = os.path.join(self.folder("back"), "file")
        self.transfer("put", source, url, network=path.left)
        self.assert_same(source, server.path("file"))
        self.transfer("get", url, target, network=path.left)
        self.assert_same(source, target)
        seen = capture.end()
        self.assertEqual({one.protocol for one in seen}, {"udp", "tcp"})
        self.assertTrue(all(":" in one.source[0] for one in seen), "something went over IPv4")

    def test_a_bad_path(self):
        path = Path(self, loss=1, reorder=3, duplicate=1, flip=0.5, truncate=0.5)
        server = self.server(network=path.right, listen=f"[{path.RIGHT6}]:0")
        source = self.random_file("file", 8 * MIB)
        self.transfer("put", source, server.url("file", host=f"[{path.RIGHT6}]"), network=path.left, seconds=120)
        self.assert_same(source, server.path("file"))
