"""--verify readback: a disk that keeps something else than it was given."""

import os

from disks import small_ext4
from harness import DONE, INTEGRITY, KIB, MIB, USAGE, Case, support_program


class ReadBack(Case):
    """The disk is the machine's own, behind a library that flips a bit in some of the writes: a
    write of any length from 1000 bytes on goes wrong the first TIMES times."""
    SIZES = {"large": 5 * MIB + 12345, "middle": 100 * KIB, "small": 10_000, "empty": 0}

    def setUp(self):
        super().setUp()
        self.lie = support_program("lying_disk.so")
        self.folder("tree")
        for name, size in self.SIZES.items():
            self.random_file(name, size, folder="tree")

    def lying(self, times):
        """How a program is started on such a disk; without io_uring, which no library sees."""
        return ["env", f"LD_PRELOAD={self.lie}", f"LYING_DISK={times}"]

    def put(self, times, *options, **how):
        root = small_ext4(self, size=64 * MIB).folder
        server = self.server(root=root, launcher=self.lying(times), settings={"io_uring": "false"}, **how)
        return server, self.client("put", *options, os.path.join(self.scratch, "tree"), server.url("copy"))

    def assert_same_tree(self, copy):
        for name in self.SIZES:
            self.assert_same(os.path.join(self.scratch, "tree", name), os.path.join(copy, name))

    def test_put_to_a_disk_that_lies(self):
        server, result = self.put(1, "--verify", "readback")
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(result.summary["verified"], len(self.SIZES))
        self.assertGreater(result.summary["leaves_again"], 0)
        self.assertLess(result.summary["bytes"], 2 * sum(self.SIZES.values()))
        self.assert_same_tree(os.fsdecode(server.path("copy")))
        self.assertEqual(server.parts(), [])

    def test_put_that_believes_it(self):
        server, result = self.put(1)
        self.assertEqual(result.code, DONE, str(result))
        with self.assertRaises(AssertionError):
            self.assert_same_tree(os.fsdecode(server.path("copy")))

    def test_put_to_a_disk_that_lies_each_time(self):
        server, result = self.put(1000, "--verify", "readback")
        self.assert_failed(result, INTEGRITY)
        self.assertEqual(sorted(os.path.basename(error["path"]) for error in result.errors),
                         ["large", "middle", "small"])
        self.assertEqual(os.listdir(server.path("copy")), [b"empty"])
        self.assertEqual(server.parts(), [])
        self.assertTrue(server.running())

    def test_get_to_a_disk_that_lies(self):
        server = self.server(root=os.path.join(self.scratch, "tree"))
        copy = os.path.join(small_ext4(self, size=64 * MIB).folder, "copy")
        result = self.client("get", "--verify", "readback", "--no-uring", server.url(), copy + "/",
                             launcher=self.lying(1))
        self.assertEqual(result.code, DONE, str(result))
        self.assertGreater(result.summary["leaves_again"], 0)
        self.assert_same_tree(copy)

    def test_a_sound_disk_moves_nothing_twice(self):
        server = self.server()
        result = self.client("put", "--verify", "readback", os.path.join(self.scratch, "tree"), server.url("copy"))
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(result.summary["leaves_again"], 0)
        self.assertEqual(result.summary["bytes"], sum(self.SIZES.values()))
        self.assert_same_tree(os.fsdecode(server.path("copy")))
        self.assertEqual(self.client("put", "--verify", "twice", self.scratch, server.url("x")).code, USAGE)
