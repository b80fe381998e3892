"""Targets on a file system that has no locks: Lustre without -o flock, NFSv3 without lockd."""

import os
import signal

from disks import run, small_ext4
from harness import DONE, FILE_FAILED, MIB, Case, need, need_program, parts_below, sanitized

WRITTEN = "another transfer is writing this file"


class WithoutLocks(Case):
    def setUp(self):
        super().setUp()
        need(not sanitized(), "a sanitizer does not bear to be traced")
        # Alone of all calls: the others run at full speed.
        self.lockless = (need_program("strace"), "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=flock",
                         "-e", "inject=flock:error=ENOSYS")
        self.large = self.random_file("large", 12 * MIB)
        self.tree = self.folder("tree")
        for number in range(20):
            self.random_file(str(number), 3000, folder="tree")

    def test_files_come_and_are_replaced(self):
        daemon = self.server(launcher=self.lockless)
        for _ in range(2):
            self.transfer("put", self.large, daemon.url("large"))
            self.transfer("put", self.tree + "/", daemon.url("tree"), files=20)
            for number in range(20):
                self.assert_same(os.path.join(self.tree, str(number)), daemon.path(f"tree/{number}"))
                self.random_file(str(number), 4000, folder="tree")
            self.assert_same(self.large, daemon.path("large"))
            self.large = self.random_file("large", 13 * MIB)
        self.assertEqual(parts_below(daemon.root), [])
        self.assertEqual(daemon.stderr.count("has no locks"), 1, daemon.stderr)
        back = os.path.join(self.folder("back"), "large")
        for _ in range(2):
            got = self.transfer("get", daemon.url("large"), back, launcher=self.lockless)
            self.assertIn("has no locks", got.stderr)
        self.assert_same(daemon.path("large"), back)

    def test_a_file_that_is_written_is_left_to_its_writer(self):
        daemon = self.server(launcher=self.lockless)
        slowly = ("put", "--rate-limit", "40Mbit/s", self.large, daemon.url("x"))
        first = self.start(*slowly)
        self.wait_for_part(daemon.root, first, MIB)
        first.signal(signal.SIGSTOP)
        refused = self.client("put", self.random_file("other", 12 * MIB), daemon.url("x"))
        self.assert_failed(refused, FILE_FAILED)
        self.assertIn(WRITTEN, refused.said())
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait(), DONE, first.stdout + first.stderr)
        self.assert_same(self.large, daemon.path("x"))
        # What is cut is not gone on with, and in nobody's way.
        cut = self.start(*slowly)
        self.wait_for_part(daemon.root, cut, MIB)
        cut.signal(signal.SIGINT)
        cut.wait()
        self.transfer("put", self.large, daemon.url("x"))
        self.assertEqual(parts_below(daemon.root), [])

    def test_what_a_dead_writer_left_is_made_anew_in_time(self):
        image = small_ext4(self, 64 * MIB)
        debugfs = need_program("debugfs")
        for writer in ((), self.lockless):
            daemon = self.server(root=image.folder, launcher=writer)
            client = self.start("put", "--rate-limit", "40Mbit/s", self.large, daemon.url("x"))
            self.wait_for_part(daemon.root, client, 2 * MIB)
            daemon.kill()
            client.kill()
            part, = (os.fsdecode(os.path.basename(p)) for p in parts_below(image.folder) if p.endswith(b".part"))
            daemon = self.server(root=image.folder, launcher=self.lockless)
            refused = self.client("put", self.large, daemon.url("x"))
            self.assert_failed(refused, FILE_FAILED)
            self.assertIn(WRITTEN, refused.said())
            daemon.kill()
            image.unmount_once_free()
            run(debugfs, "-w", "-R", f"set_inode_field /{part} ctime 20200101000000", image.file)
            image.mount()
            daemon = self.server(root=image.folder, launcher=self.lockless)
            done = self.transfer("put", self.large, daemon.url("x"))
            self.assertEqual(done.summary["bytes_kept"], 0)
            self.assert_same(self.large, daemon.path("x"))
            self.assertEqual(parts_below(daemon.root), [])
            os.unlink(daemon.path("x"))
            daemon.kill()

    def test_who_has_locks_makes_it_anew_beside_who_has_none(self):
        daemon = self.server(launcher=self.lockless)
        first = self.start("put", "--rate-limit", "40Mbit/s", self.large, daemon.url("x"))
        self.wait_for_part(daemon.root, first, MIB)
        first.signal(signal.SIGSTOP)
        with_locks = self.server(root=daemon.root)
        other = self.random_file("other", 12 * MIB)
        self.transfer("put", other, with_locks.url("x"))
        first.signal(signal.SIGCONT)
        self.assertEqual(first.wait(), FILE_FAILED, first.stdout + first.stderr)
        self.assertIn("somebody removed its partial file", first.stderr)
        self.assert_same(other, daemon.path("x"))
