"""sync: what stays, or may go: what is left out, cannot be read, or is in the way."""

import os
import shutil
import stat
import subprocess

from harness import DONE, FILE_FAILED, MIB, need, need_isolation
from syncs import SyncCase
from trees import snapshot


class SyncStays(SyncCase):
    def test_a_directory_in_the_place_of_a_large_file(self):
        source = self.folder("tree")
        self.random_file("inside", 70_000, "tree/d/deep")
        os.chmod(os.path.join(source, "d"), 0o2750)
        os.utime(os.path.join(source, "d"), ns=(5, 5))
        for there, place in ((self.daemon.path("to").decode(), self.daemon.url("to")), (self.folder("back"), None)):
            os.makedirs(there, exist_ok=True)
            # It takes its time to free.
            self.file_with(os.path.join(there, "d"), bytes(100 * MIB))
            result = self.sync(source, place) if place else self.sync(self.daemon.url("to") + "/", there)
            self.assertEqual(result.errors, [])
            status = os.stat(os.path.join(there, "d"))
            self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime_ns), (0o750, 5))

    def test_deletions_have_a_limit(self):
        source = self.small_tree()
        target = self.daemon.path("to").decode()
        extra = ["gone", "sub/gone", "dir", "dir/x", "dir/y"]
        os.makedirs(os.path.join(target, "dir"))
        os.makedirs(os.path.join(target, "sub"))
        for name in extra:
            if name != "dir":
                self.file_with(os.path.join(target, name), b"x")
        os.makedirs(os.path.join(target, "a/holds"))  # in the way of a file
        few = self.sync("--delete", "--max-delete", "6", source, self.daemon.url("to"), code=FILE_FAILED)
        self.assertIn("7 would go", few.said())
        self.assertEqual(few.summary["deleted"], 0)
        told = self.sync("--dry-run", "--delete", "--max-delete", "6", source, self.daemon.url("to"), code=FILE_FAILED)
        self.assertEqual(len([e for e in told.events if e["event"] == "error"]), 1)
        self.assertIn("7 would go", told.said())
        self.assertEqual(told.summary["deleted"], 7)
        for name in extra + ["a/holds"]:
            self.assertTrue(os.path.lexists(os.path.join(target, name)), name)
        self.assert_same(os.path.join(source, "sub/c"), os.path.join(target, "sub/c"))
        times = {name: os.stat(os.path.join(source, name)).st_mtime_ns for name in (".", "sub")}
        enough = self.sync("--delete", "--max-delete", "7", source, self.daemon.url("to"))
        self.assertEqual(enough.summary["deleted"], 7)
        self.assertEqual(self.differences(source, target, "--no-owner", "--no-group"), b"")
        for name, time in times.items():
            self.assertEqual(os.stat(os.path.join(target, name)).st_mtime_ns, time)

    def test_what_is_left_out_is_not_deleted(self):
        source = self.small_tree()
        target = self.daemon.path("to").decode()
        for name in ("keep.o", "dir/keep.o", "dir/goes", "other/goes", "cache/x"):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            self.file_with(os.path.join(target, name), b"x")
        theirs = self.folder("theirs")
        shutil.copytree(target, theirs, dirs_exist_ok=True)
        patterns = ("--exclude=*.o", "--exclude=/cache/")
        result = self.sync("--delete", *patterns, source, self.daemon.url("to"))
        self.assertEqual(result.summary["deleted"], 3)
        self.assertTrue(os.path.exists(os.path.join(target, "dir/keep.o")))
        self.assertTrue(os.path.exists(os.path.join(target, "cache/x")))
        rsync = shutil.which("rsync")
        if rsync:
            subprocess.run([rsync, "-a", "--delete", *patterns, source + "/", theirs + "/"], capture_output=True)
            self.assertEqual(self.differences(theirs, target, "--no-owner", "--no-group", "--omit-dir-times"), b"")

    def test_nothing_is_deleted_where_the_source_could_not_be_read(self):
        need_isolation()
        nobody = 65534
        os.chown(self.home, nobody, nobody)
        os.chown(self.client_password, nobody, nobody)
        source = self.small_tree()
        os.chmod(os.path.join(source, "sub/deep"), 0)
        os.makedirs(self.daemon.path("to/sub/deep"))
        for name in ("to/gone", "to/sub/deep/e"):
            self.file_with(self.daemon.path(name), b"x")
        left_over = os.path.join(self.home, "left-over")
        result = self.client("sync", "--delete", "--left-over", left_over, source, self.daemon.url("to"), user=nobody)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertIn("nothing was deleted", result.said())
        self.assertTrue(os.path.exists(self.daemon.path("to/gone")))
        self.assert_same(os.path.join(source, "sub/c"), self.daemon.path("to/sub/c"))
        # What was not done stands in a list that the next run takes.
        os.chmod(os.path.join(source, "sub/deep"), 0o755)
        result = self.sync("--delete", "--from-file", left_over, self.daemon.url("to"))
        self.assertEqual(result.summary["files"], 1)
        self.assertFalse(os.path.exists(self.daemon.path("to/gone")))

    def test_what_failed_of_a_tree_that_was_got_is_left_over(self):
        self.file_with(os.path.join(self.folder("root/runs"), "x"), b"x")
        target, left = self.folder("here"), os.path.join(self.scratch, "left")
        in_the_way = os.path.join(target, "x")
        os.mkdir(in_the_way)
        for again in (False, True):
            named = ("--from-file", left) if again else (self.daemon.url("runs"),)
            self.sync("--left-over", left, *named, target, code=FILE_FAILED)
            with open(left, "rb") as file:
                self.assertEqual(file.read(), os.fsencode(self.daemon.url("runs")) + b"\0")
        os.rmdir(in_the_way)
        self.sync("--left-over", left, "--from-file", left, target)
        self.assertEqual((os.stat(left).st_size, os.stat(in_the_way).st_size), (0, 1))

    def test_an_archive_of_what_stands_there_says_which_attributes_it_cannot_read(self):
        need_isolation()
        nobody = 65534
        source = self.small_tree()
        kept = os.path.join(source, "sub/c")
        os.setxattr(kept, "user.key", b"value")
        os.chmod(kept, 0o4711)
        self.sync("--archive", source, self.daemon.url("to"))
        subprocess.run(["chown", "-R", str(nobody), self.home, self.client_password], check=True)
        there = self.daemon.path("to/sub/c")
        os.setxattr(there, "user.key", b"another")
        self.file_with(self.daemon.path("to/gone"), b"x")
        for verb, from_source in (("sync", source), ("put", source + "/")):
            result = self.client(verb, "--archive", *["--delete"] * (verb == "sync"), from_source, self.daemon.url("to"), user=nobody)
            self.assertEqual(result.code, FILE_FAILED, str(result))
            self.assertEqual([error["path"] for error in result.errors if "c" in error["path"]], [kept], str(result))
            self.assertEqual(stat.S_IMODE(os.stat(there).st_mode), 0o4711)
            self.assertTrue(os.path.exists(self.daemon.path("to/gone")))

    def test_what_cannot_be_read_at_the_destination_stays_alone(self):
        need_isolation()
        nobody = 65534
        os.chown(self.home, nobody, nobody)
        os.chown(self.client_password, nobody, nobody)
        os.makedirs(self.daemon.path("from"))
        self.file_with(self.daemon.path("from/a"), b"a")
        target = os.path.join(self.home, "to")
        os.makedirs(os.path.join(target, "closed"))
        self.file_with(os.path.join(target, "gone"), b"x")
        for name in ("", "closed", "gone"):
            os.chown(os.path.join(target, name), nobody, nobody)
        os.chmod(os.path.join(target, "closed"), 0)
        result = self.client("sync", "--delete", self.daemon.url("from"), target, user=nobody)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertIn("closed", result.said())
        self.assertNotIn("nothing was deleted", result.said())
        self.assertEqual(sorted(os.listdir(target)), ["a", "closed"])

    def test_what_may_not_be_listed_comes_to_rest(self):
        need(os.geteuid() == 0, "only root can start a server as a user whom modes bind")
        server = self.server(user=61_234, root=self.folder("theirs"), state=self.folder("their-state"))
        tree = self.folder("tree")
        for mode in (0o311, 0o300):
            self.file_with(os.path.join(self.folder(f"tree/{mode:04o}"), "f"), b"x")
            os.chmod(os.path.join(tree, f"{mode:04o}"), mode)
        self.transfer("sync", tree, server.url("to"), files=2)
        self.assertEqual(self.sync(tree, server.url("to")).summary["bytes"], 0)
        self.file_with(os.path.join(tree, "0311/g"), b"y")
        self.assertEqual(self.client("put", tree + "/", server.url("to")).code, DONE)
        for mode in (0o311, 0o300):
            self.assertEqual(stat.S_IMODE(os.stat(server.path(f"to/{mode:04o}")).st_mode), mode)
        self.assertTrue(os.path.exists(server.path("to/0311/g")))
        os.unlink(os.path.join(tree, "0311/g"))
        gone = self.sync("--delete", tree, server.url("to"), code=FILE_FAILED)
        self.assertIn("0311", gone.said())

    def test_what_stays_as_it_is(self):
        source = self.small_tree()
        self.sync(source, self.daemon.url("to"))
        newer, older = self.daemon.path("to/a"), self.daemon.path("to/b")
        for path, when in ((newer, 10**18 * 3), (older, 10**18)):
            self.file_with(path, b"changed")
            os.utime(path, ns=(when, when))
        os.unlink(self.daemon.path("to/sub/d"))
        shutil.rmtree(self.daemon.path("to/sub/deep"))
        for options, expected in (
                (("--update", "--existing"), {("replace", "b")}),
                (("--ignore-existing", "--existing"), set()),
                (("--ignore-existing",), {("create", "sub/d"), ("create", "sub/deep"), ("create", "sub/deep/e")}),
                (("--update",), {("replace", "b"), ("create", "sub/d"), ("create", "sub/deep"),
                                 ("create", "sub/deep/e")})):
            with self.subTest(options=options):
                planned = self.sync("--dry-run", *options, source, self.daemon.url("to"))
                said = {change for change in self.changes(planned) if change[0] != "attributes"}
                self.assertEqual(said, expected)
        self.sync("--update", source, self.daemon.url("to"))
        with open(newer, "rb") as file:
            self.assertEqual(file.read(), b"changed")
        self.assert_same(os.path.join(source, "b"), older)

    def test_what_is_ignored_is_neither_replaced_nor_deleted(self):
        source = self.small_tree()
        target = self.daemon.path("to").decode()
        os.makedirs(os.path.join(target, "a/directory"))
        self.file_with(os.path.join(target, "sub"), b"a file where a directory is to be")
        before = snapshot(os.path.join(target, "sub")), snapshot(os.path.join(target, "a"))
        result = self.sync("--ignore-existing", "--delete", "--max-delete", "0", source, self.daemon.url("to"))
        self.assertEqual(set(self.changes(result)) - {("attributes", ".")}, {("create", "b")})
        self.assertEqual((snapshot(os.path.join(target, "sub")), snapshot(os.path.join(target, "a"))), before)

    def test_what_is_in_the_way_stays_where_what_would_come_cannot_be_read(self):
        need_isolation()
        nobody = 65534
        os.chown(self.home, nobody, nobody)
        os.chown(self.client_password, nobody, nobody)
        source = self.small_tree()
        os.chmod(os.path.join(source, "a"), 0)
        os.makedirs(self.daemon.path("to/a/holds"))
        os.makedirs(self.daemon.path("to/b/holds"))
        self.file_with(self.daemon.path("to/x"), b"")
        options = ("sync", "--delete", source, self.daemon.url("to"))
        result = self.client(*options, user=nobody)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertIn("nothing was deleted", result.said())
        self.assertEqual(result.summary["deleted"], 0)
        for name in ("to/a/holds", "to/b/holds", "to/x"):
            self.assertTrue(os.path.exists(self.daemon.path(name)), name)
        os.chmod(os.path.join(source, "a"), 0o644)
        result = self.client(*options, user=nobody)
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(result.summary["deleted"], 5)
        self.assert_same(os.path.join(source, "b"), self.daemon.path("to/b"))
