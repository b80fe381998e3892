"""Files of every awkward size arrive as they were, both ways."""

import errno
import os
import tempfile

from harness import FILE_FAILED, GIB, KIB, MIB, Case, need

# Around nothing, a packet's payload over Ethernet, a page, the limit of packed files, and a leaf.
SIZES = (0, 1, 1439, 1440, 1441, 4095, 4096, 4097, 64 * KIB - 1, 64 * KIB, MIB - 1, MIB, MIB + 1)


class Sizes(Case):
    def test_one_file_of_each_size(self):
        server = self.server()
        for size in SIZES:
            with self.subTest(size=size):
                source = self.random_file(f"file-{size}", size)
                put = self.transfer("put", source, server.url(f"file-{size}"))
                self.assertEqual(put.summary["bytes"], size)
                self.assert_same(source, server.path(f"file-{size}"))
                target = os.path.join(self.folder("back"), f"file-{size}")
                got = self.transfer("get", server.url(f"file-{size}"), target)
                self.assertEqual(got.summary["bytes"], size)
                # A receiver's guess before it was told any.
                self.assertNotIn(100, [stripe["rtt_ms"] for stripe in got.summary["stripes"]])
                self.assert_same(source, target)
        self.assertEqual(server.parts(), [])

    def test_all_sizes_in_one_transfer(self):
        server = self.server()
        os.mkdir(server.path("all"))
        sources = [self.random_file(f"file-{size}", size) for size in SIZES]
        self.transfer("put", *sources, server.url("all"), files=len(SIZES))
        back = self.folder("back")
        self.transfer("get", *(server.url(f"all/file-{size}") for size in SIZES), back, files=len(SIZES))
        for size, source in zip(SIZES, sources):
            self.assert_same(source, server.path(f"all/file-{size}"))
            self.assert_same(source, os.path.join(back, f"file-{size}"))

    def test_a_sparse_file_stays_sparse(self):
        server = self.server()
        size = 5 * GIB
        source = os.path.join(self.folder("local"), "sparse")
        with open(source, "wb") as file:
            for at in (0, 3 * GIB + 12_345, size - 70_000):
                file.seek(at)
                file.write(self.random.randbytes(70_000))
        self.assertLess(os.stat(source).st_blocks * 512, MIB)
        self.transfer("put", source, server.url("sparse"))
        target = os.path.join(self.folder("back"), "sparse")
        self.transfer("get", server.url("sparse"), target)
        for copy in (server.path("sparse"), target):
            self.assert_same_sparse(source, copy)
            self.assertLess(os.stat(copy).st_blocks * 512, 16 * MIB, "the holes were filled")

    def test_a_file_that_is_one_hole(self):
        server = self.server()
        source = os.path.join(self.folder("local"), "hole")
        with open(source, "wb") as file:
            file.truncate(100 * MIB + 1)
        self.transfer("put", source, server.url("hole"))
        self.assert_same_sparse(source, server.path("hole"))
        self.assertLess(os.stat(server.path("hole")).st_blocks * 512, 2 * MIB)

    def test_a_hole_larger_than_the_target_may_be_fails_before_it_is_digested(self):
        server = self.server()
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as source, open(server.path("probe"), "wb") as probe:
            source.truncate(1 << 62)
            with self.assertRaises(OSError, msg="a file system that holds it shows nothing") as holds:
                probe.truncate(1 << 62)
            need(holds.exception.errno == errno.EFBIG, "a file system with a largest file")
            os.unlink(probe.name)
            result = self.client("put", source.name, server.url("hole"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("cannot set the size: File too large", result.said())
        self.assertEqual(os.listdir(server.root), [])
