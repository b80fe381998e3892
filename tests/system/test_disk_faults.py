"""Disks that are full, limited or broken, and files that change under way."""

import os
import re

from harness import DONE, FILE_FAILED, MIB, Case, Result, need_isolation, wait_for
from disks import btrfs, damage, limit_by_qgroup, run, small_ext4

SPACE = re.compile(r"space|full", re.I)
QUOTA = re.compile(r"quota|space", re.I)


class Faults(Case):
    def put_too_much(self, root, words, size=32 * MIB):
        server = self.server(root=root)
        source = self.random_file("large", size)
        before = set(os.listdir(root))
        result = self.client("put", source, server.url("large"))
        self.assert_failed(result, FILE_FAILED)
        self.assertRegex(result.said(), words)
        self.assertEqual(set(os.listdir(root)) - before, set(), "something half-done was left")
        self.assert_serving(server)

    def get_too_much(self, folder, words, size=32 * MIB):
        server = self.server()
        self.random_file("large", size, folder="root")
        before = set(os.listdir(folder))
        result = self.client("get", server.url("large"), folder)
        self.assert_failed(result, FILE_FAILED)
        self.assertRegex(result.said(), words)
        self.assertEqual(set(os.listdir(folder)) - before, set(), "something half-done was left")
        self.assert_serving(server)

    def test_put_to_a_full_disk(self):
        self.put_too_much(small_ext4(self).folder, SPACE)

    def test_get_to_a_full_disk(self):
        self.get_too_much(small_ext4(self).folder, SPACE)

    def tmpfs(self):
        need_isolation()
        folder = self.folder("tmpfs")
        run("mount", "-t", "tmpfs", "-o", "size=8m", "none", folder)
        self.addCleanup(run, "umount", "-l", folder)
        return folder

    def test_put_to_a_full_tmpfs(self):
        self.put_too_much(self.tmpfs(), SPACE)

    def test_get_to_a_full_tmpfs(self):
        self.get_too_much(self.tmpfs(), SPACE)

    def test_put_over_a_quota(self):
        image = btrfs(self)
        limit_by_qgroup(image, 8 * MIB)
        self.put_too_much(image.folder, QUOTA)

    def test_get_over_a_quota(self):
        image = btrfs(self)
        limit_by_qgroup(image, 8 * MIB)
        self.get_too_much(image.folder, QUOTA)

    def unreadable(self):
        """A folder with a file that cannot be read in its middle, and a good one."""
        image = btrfs(self)
        for name in ("broken", "good"):
            with open(os.path.join(image.folder, name), "wb") as file:
                file.write(self.random.randbytes(6 * MIB))
        with open(os.path.join(image.folder, "broken"), "rb") as file:
            content = os.pread(file.fileno(), 4096, 3 * MIB)
        damage(image, content)
        with self.assertRaises(OSError):
            with open(os.path.join(image.folder, "broken"), "rb") as file:
                file.read()
        return image.folder

    def test_put_of_an_unreadable_file(self):
        folder = self.unreadable()
        server = self.server()
        result = self.client("put", os.path.join(folder, "broken"), os.path.join(folder, "good"), server.url("into"))
        self.assert_failed(result, FILE_FAILED)
        self.assertRegex(result.said(), "(?i)input/output|read")
        self.assertEqual(os.listdir(server.path("into")), [b"good"])
        self.assert_same(os.path.join(folder, "good"), server.path("into/good"))
        self.assert_serving(server)

    def test_get_of_an_unreadable_file(self):
        folder = self.unreadable()
        server = self.server(root=folder)
        back = self.folder("back")
        result = self.client("get", server.url("broken"), server.url("good"), back)
        self.assert_failed(result, FILE_FAILED)
        self.assertRegex(result.said(), "(?i)input/output|read")
        self.assertEqual(os.listdir(back), ["good"])
        self.assert_same(os.path.join(folder, "good"), os.path.join(back, "good"))
        self.assert_serving(server)


class ChangingFiles(Case):
    """The files are larger than the rings of 16 MiB, so that they cannot have been read when they
    change."""
    SIZE = 64 * MIB
    SLOWLY = ("--rate-limit", "150Mbit/s")

    def small_server(self):
        return self.server(settings={"transfer_memory": "16MiB"})

    def shrink(self, path):
        os.truncate(path, self.SIZE // 2)

    def grow(self, path):
        with open(path, "ab") as file:
            file.write(b"more" * 100_000)

    def remove(self, path):
        os.unlink(path)

    def replace(self, path):
        new = os.path.join(self.scratch, "new")
        with open(new, "wb") as file:
            file.truncate(self.SIZE)  # at once: content would take as long as the transfer may
        os.rename(new, path)

    def rewrite(self, path):
        with open(path, "r+b") as file:
            file.write(self.random.randbytes(self.SIZE))

    def flip(self, path):
        """One byte of what was sent already; the time is put back."""
        before = os.stat(path)
        with open(path, "r+b") as file:
            file.seek(1234)
            byte = file.read(1)[0]
            file.seek(1234)
            file.write(bytes([byte ^ 1]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def change_under_put(self, change):
        server = self.small_server()
        source = self.random_file("file", self.SIZE)
        client = self.start("put", *self.SLOWLY, source, server.url("file"))
        self.wait_for_part(server.root, client, MIB)
        change(source)
        client.wait()
        self.assertEqual(client.wait(), FILE_FAILED, client.stdout + client.stderr)
        self.assertTrue(client.stderr.strip() or '"error"' in client.stdout)
        # A worker that flushes it still has it open.
        wait_for(lambda: os.listdir(server.root) == [], "the end of its partial file", alive=server.running)
        self.assert_serving(server)

    def change_under_get(self, change):
        server = self.small_server()
        source = self.random_file("file", self.SIZE, folder="root")
        back = self.folder("back")
        client = self.start("get", *self.SLOWLY, server.url("file"), back)
        self.wait_for_part(back, client, MIB)
        change(source)
        self.assertEqual(client.wait(), FILE_FAILED, client.stdout + client.stderr)
        self.assertTrue(client.stderr.strip() or '"error"' in client.stdout)
        self.assertEqual(os.listdir(back), [])
        self.assert_serving(server)

    def test_put_of_a_file_that_shrinks(self):
        self.change_under_put(self.shrink)

    def test_put_of_a_file_that_grows(self):
        self.change_under_put(self.grow)

    def test_put_of_a_file_that_is_removed(self):
        self.change_under_put(self.remove)

    def test_get_of_a_file_that_is_replaced(self):
        self.change_under_get(self.replace)

    def written_to(self, get, change, leaves_again):
        """What was written to arrives as it is in the end, and what changed alone moves again."""
        server = self.small_server()
        source = self.random_file("file", self.SIZE, folder="root" if get else "local")
        back = self.folder("back")
        copy = os.path.join(back, "file") if get else server.path("file")
        words = ("get", server.url("file"), back) if get else ("put", source, server.url("file"))
        client = self.start(*words, *self.SLOWLY)
        self.wait_for_part(back if get else server.root, client, 8 * MIB)
        change(source)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        result = Result(client)
        self.assert_same(source, copy)
        self.assertEqual(os.stat(source).st_mtime_ns, os.stat(copy).st_mtime_ns)
        self.assertIn(result.summary["leaves_again"], leaves_again)
        # No reason to doubt the machines.
        self.assertEqual(result.summary["leaves_changed"], result.summary["leaves_again"])
        self.assertIn("written to at the source", result.said())
        self.assertNotIn("test the memory", result.said())
        self.assertEqual(result.summary["verified"], 1)

    def test_put_of_a_file_that_is_rewritten(self):
        self.written_to(False, self.rewrite, range(1, self.SIZE // MIB + 1))

    def test_put_of_a_file_with_a_flipped_byte(self):
        self.written_to(False, self.flip, [1])

    def test_get_of_a_file_with_a_flipped_byte(self):
        self.written_to(True, self.flip, [1])

    def test_get_of_a_file_that_shrinks(self):
        self.change_under_get(self.shrink)

    def test_get_of_a_file_that_grows(self):
        self.change_under_get(self.grow)
