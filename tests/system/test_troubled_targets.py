"""A tree whose target fails in the middle: the files that suffer say why, the others arrive, and what the
left-over list names brings the rest once the trouble is over."""

import os
import re
import shutil

from disks import run, small_ext4
from harness import (CUT, DONE, FILE_FAILED, KIB, MIB, Case, Result, need_isolation, need_program, parts_below,
                     wait_for)


class Troubled(Case):
    FILES, SIZE = 5, 2 * MIB  # of each directory
    SLOWLY = ("--rate-limit", "150Mbit/s")

    def setUp(self):
        super().setUp()
        need_isolation()
        self.tree = self.folder("tree")
        for directory in "abc":
            self.folder(f"tree/{directory}")
            for number in range(self.FILES):
                self.random_file(str(number), self.SIZE, folder=f"tree/{directory}")
        self.left_over = os.path.join(self.scratch, "left-over")

    def names_below(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, names in os.walk(folder) for name in names)

    def troubled(self, root, words, trouble, mend, get=False):
        """`trouble` comes when the first file has landed, `mend` after the run."""
        server = self.server(root=self.scratch if get else root)
        source = server.url("tree/") if get else self.tree + "/"
        target = os.path.join(root, "into")
        there = target if get else server.url("into")
        client = self.start("get" if get else "put", *self.SLOWLY, "--left-over", self.left_over, source, there)
        wait_for(lambda: os.path.exists(os.path.join(target, "a/0")) and os.path.isdir(os.path.join(target, "b")),
                 "the first file", alive=client.running)
        trouble(target)
        self.assertEqual(client.wait(), FILE_FAILED, client.stdout + client.stderr)
        result = Result(client)
        self.assertRegex(result.said(), words)
        self.assertGreater(len(result.errors), 0)
        mend(target)
        landed = self.names_below(target)
        self.assertEqual([name for name in landed if name.startswith(".lambda-")], [])
        for name in landed:
            self.assert_same(os.path.join(self.tree, name), os.path.join(target, name))
        self.assertGreaterEqual(result.summary["files"] + len(result.errors), 3 * self.FILES, str(result))
        # What is left over, and it alone, comes with the next run.
        again = self.client("get" if get else "put", "--from-file", self.left_over, there)
        self.assertEqual(again.code, DONE, str(again))
        self.assertEqual(again.summary["files"], 3 * self.FILES - len(landed))
        self.assertEqual(self.names_below(target), self.names_below(self.tree))
        for name in self.names_below(self.tree):
            self.assert_same(os.path.join(self.tree, name), os.path.join(target, name))

    def full(self, get):
        folder = small_ext4(self, 64 * MIB).folder
        ballast = self.file_with(os.path.join(folder, "ballast"), self.random.randbytes(40 * MIB))
        os.sync()
        self.troubled(folder, re.compile("space", re.I), lambda target: None, lambda target: os.unlink(ballast), get)

    def test_put_to_a_disk_that_fills_up(self):
        self.full(False)

    def test_get_to_a_disk_that_fills_up(self):
        self.full(True)

    def read_only(self, target):
        place = os.path.join(target, "b")
        run("mount", "--bind", place, place)
        self.addCleanup(os.system, f"umount -l '{place}' 2>/dev/null")
        run("mount", "-o", "remount,bind,ro", place)

    def writable(self, target):
        run("umount", "-l", os.path.join(target, "b"))

    def test_put_to_a_directory_that_becomes_read_only(self):
        self.troubled(self.folder("root"), re.compile("read-only", re.I), self.read_only, self.writable)

    def test_get_to_a_directory_that_becomes_read_only(self):
        self.troubled(self.folder("root"), re.compile("read-only", re.I), self.read_only, self.writable, get=True)

    def lose(self, target):
        shutil.rmtree(os.path.join(target, "b"), ignore_errors=True)
        self.file_with(os.path.join(target, "b"), b"in the way")

    def find(self, target):
        os.unlink(os.path.join(target, "b"))

    def test_put_to_a_directory_that_is_lost(self):
        self.troubled(self.folder("root"), re.compile("directory", re.I), self.lose, self.find)

    def test_get_to_a_directory_that_is_lost(self):
        self.troubled(self.folder("root"), re.compile("directory", re.I), self.lose, self.find, get=True)


class MovedAway(Case):
    """A directory that goes elsewhere while it is written: what is not under its name is not called done."""
    FILES = [f"{directory}/{number}" for directory in "ab" for number in range(5)]

    def ways(self):
        """(put or get, where the tree lies, where it lands, its server), each with folders of its own."""
        for verb in ("put", "get"):
            server = self.server(root=self.folder(f"{verb}-root"), state=self.folder(f"{verb}-state"))
            here = self.folder(f"{verb}-here")
            source, target = (server.root, here) if verb == "get" else (here, server.root)
            for name in self.FILES:
                os.makedirs(os.path.join(source, "tree", os.path.dirname(name)), exist_ok=True)
                self.random_file(name, 2 * MIB, folder=os.path.join(source, "tree"))
            os.chmod(os.path.join(source, "tree"), 0o700)
            yield verb, source, target, server

    def move(self, verb, ends, until, trouble):
        client = self.start(verb, "--rate-limit", "100Mbit/s", *ends)
        wait_for(until, "the first of it", alive=client.running)
        trouble()
        self.assertEqual(client.wait(), FILE_FAILED, client.stdout + client.stderr)
        return Result(client)

    def tree_away(self, trouble):
        for verb, source, target, server in self.ways():
            into = os.path.join(target, "into")
            ends = (source + "/tree/", server.url("into")) if verb == "put" else (server.url("tree/"), into)
            first = os.path.join(into, "a/0")
            result = self.move(verb, ends, lambda first=first: os.path.exists(first), lambda into=into: trouble(into))
            self.assertIn("another directory took its place while it was written", result.said())
            yield target
            self.assertEqual(self.client(verb, *ends).code, DONE)
            for name in self.FILES:
                self.assert_same(os.path.join(source, "tree", name), os.path.join(into, name))

    def test_the_top_and_a_link_is_put_in_its_place(self):
        def trouble(into):
            theirs = os.path.join(os.path.dirname(into), "theirs")
            os.mkdir(theirs, 0o755)
            os.utime(theirs, (1, 1))
            os.rename(into, into + "-away")
            os.symlink("theirs", into)

        for target in self.tree_away(trouble):
            theirs = os.stat(os.path.join(target, "theirs"))
            self.assertEqual((theirs.st_mode & 0o777, theirs.st_mtime), (0o755, 1.0))
            os.unlink(os.path.join(target, "into"))

    def test_one_below_and_it_is_made_again(self):
        def trouble(into):
            os.rename(os.path.join(into, "a"), os.path.join(into, "away"))
            os.mkdir(os.path.join(into, "a"))

        for _ in self.tree_away(trouble):
            pass

    def test_of_a_single_file(self):
        for verb, source, target, server in self.ways():
            os.mkdir(os.path.join(target, "x"))
            self.random_file("one", 8 * MIB, folder=source)
            file = os.path.join(target, "x/one")
            ends = (source + "/one", server.url("x/one")) if verb == "put" else (server.url("one"), file)
            result = self.move(verb, ends, lambda folder=target: parts_below(folder),
                               lambda folder=target: os.rename(folder + "/x", folder + "/y"))
            self.assertIn("cannot give the file its name: its directory was moved", result.said())
            self.assertEqual(os.listdir(target + "/y"), [])
            self.assertEqual(self.client(verb, *ends).code, DONE)
            self.assert_same(source + "/one", file)

    def test_the_root_of_an_account(self):
        tree = self.folder("tree")
        for number in range(200):
            self.random_file(str(number), 100 * KIB, folder=tree)
        file = self.random_file("one", 8 * MIB)
        for source, name in ((file, "one"), (tree + "/", "tree")):
            server = self.server(root=self.folder(f"{name}-root"), state=self.folder(f"{name}-state"))
            away = server.root + "-away"

            def trouble(root=server.root, away=away):
                os.rename(root, away)
                os.mkdir(root)

            begun = (lambda root=server.root: parts_below(root)) if name == "one" else (
                lambda root=server.root: os.path.exists(root + "/tree/0"))
            result = self.move("put", (source, server.url(name)), begun, trouble)
            self.assertIn("the account's root was moved", result.said())
            os.rmdir(server.root)
            os.rename(away, server.root)
            self.assertEqual(self.client("put", source, server.url(name)).code, DONE)
            run("diff", "-r", source, os.path.join(server.root, name))


class PartialFiles(Case):
    """Two transfers of one name, and somebody who removes what they are writing."""

    def setUp(self):
        super().setUp()
        self.daemon = self.server()
        self.large = self.random_file("large", 12 * MIB)

    def under_way(self, *arguments):
        client = self.start("put", "--rate-limit", "40Mbit/s", *arguments)
        self.wait_for_part(self.daemon.root, client, MIB)
        return client

    def test_a_removed_one_is_not_mistaken_for_anothers(self):
        first = self.under_way(self.large, self.daemon.url("x"))
        for part in parts_below(self.daemon.root):
            os.unlink(part)
        other = self.random_file("other", 12 * MIB)
        second = self.under_way(other, self.daemon.url("x"))
        self.assertEqual(first.wait(), FILE_FAILED, first.stdout + first.stderr)
        self.assertIn("somebody removed its partial file", first.stderr)
        self.assertFalse(os.path.exists(self.daemon.path("x")))
        self.assertEqual(second.wait(), DONE, second.stdout + second.stderr)
        self.assert_same(other, self.daemon.path("x"))
        self.assertEqual(parts_below(self.daemon.root), [])

    def test_what_another_transfer_writes_is_waited_for(self):
        other = self.random_file("other", 2 * MIB)
        more = self.random_file("more", MIB)
        first = self.under_way(self.large, self.daemon.url("x/large"))
        os.rename(other, self.folder("second") + "/large")
        other = os.path.join(self.folder("second"), "large")
        # Beside it, what nobody writes; and a tree.
        tree = self.folder("tree")
        shutil.copy(other, tree)
        waiting = [self.start("put", "--retry-for", "60s", *sources, self.daemon.url("x/"))
                   for sources in ((other, more), (tree + "/",))]
        for each in waiting:
            wait_for(lambda: "another transfer is writing this file; trying again" in each.stderr, "a pause",
                     alive=each.running)
        self.assertEqual(first.wait(), DONE, first.stdout + first.stderr)
        for each in waiting:
            self.assertEqual(each.wait(), DONE, each.stdout + each.stderr)
            self.assertEqual(Result(each).errors, [])
        self.assertEqual(Result(waiting[0]).summary["files"], 2)
        self.assert_same(other, self.daemon.path("x/large"))
        self.assert_same(more, self.daemon.path("x/more"))

    def test_a_server_that_is_full_is_waited_for(self):
        other = self.random_file("other", MIB)
        self.daemon.kill()
        self.daemon = self.server(settings={"transfers_max": 1})
        self.file_with(self.daemon.path("there"), b"x")
        first = self.under_way(self.large, self.daemon.url("large"))
        self.assert_failed(self.client("put", other, self.daemon.url("put")), CUT)
        waiting = [self.start(verb, "--retry-for", "5min", source, to) for verb, source, to in
                   (("sync", other, self.daemon.url("sync")),
                    ("get", self.daemon.url("there"), os.path.join(self.scratch, "got")))]
        for each in waiting:
            wait_for(lambda: "Too many transfers run; try later (450); trying again" in each.stderr, "a pause",
                     alive=each.running)
        waiting.append(first)
        for each in waiting:
            self.assertEqual(each.wait(), DONE, each.stdout + each.stderr)
            self.assertEqual(Result(each).errors, [])
        self.assert_same(other, self.daemon.path("sync"))

    def test_a_link_takes_no_name_that_is_written(self):
        tree = self.folder("tree")
        os.symlink("elsewhere", os.path.join(tree, "x"))
        first = self.under_way(self.large, self.daemon.url("x"))
        refused = self.client("put", tree + "/", self.daemon.url(""))
        self.assert_failed(refused, FILE_FAILED)
        self.assertIn("another transfer is writing this file", refused.said())
        self.assertEqual(first.wait(), DONE, first.stdout + first.stderr)
        self.assert_same(self.large, self.daemon.path("x"))
        self.assertEqual(self.client("put", tree + "/", self.daemon.url("")).code, DONE)
        self.assertEqual(os.readlink(self.daemon.path("x")), b"elsewhere")


class FurtherNames(Case):
    def test_where_there_can_be_no_hard_link(self):
        need_isolation()
        server = self.server()
        other = os.fsdecode(server.path("into/sub"))
        os.makedirs(other)
        run(need_program("mount"), "-t", "tmpfs", "none", other)
        self.addCleanup(run, need_program("umount"), "-l", other)
        tree = self.folder("tree")
        os.mkdir(os.path.join(tree, "sub"))
        first, further = self.random_file("first", 9 * KIB, folder="tree"), os.path.join(tree, "sub/further")
        os.link(first, further)
        refused = self.client("put", tree + "/", server.url("into"))
        self.assert_failed(refused, FILE_FAILED)
        self.assertIn("cross-device link; where there can be no hard link, move it by its own name", refused.stderr)
        self.transfer("put", further, server.url("into/sub/"))
        self.assert_same(further, server.path("into/sub/further"))
