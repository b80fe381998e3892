"""sync, and trees that go on: as rsync would leave them, and nothing moves that stands there."""

import json
import os
import shutil
import stat
import subprocess

from disks import Image, small_xfs
from harness import DONE, FILE_FAILED, MIB, USAGE, Case, Result, Settings, need, need_isolation, need_program, wait_for
from labs import LabCase
from trees import nasty, outdated, snapshot


def carried():
    """Bytes that the loopback of this namespace has carried."""
    with open("/sys/class/net/lo/statistics/tx_bytes") as file:
        return int(file.read())


def counts(result):
    """What a sync says in sums, or of a dry run would do."""
    return {key: result.summary[key] for key in ("dry_run", "created", "replaced", "attributes", "deleted", "planned_bytes")}


class Sync(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def sync(self, *arguments, code=DONE):
        result = self.client("sync", *arguments)
        self.assertEqual(result.code, code, str(result))
        return result

    @staticmethod
    def changes(result):
        return [(event["change"], event["path"]) for event in result.events if event["event"] == "change"]

    def differences(self, one, other, *options):
        return subprocess.run([need_program("rsync"), "-anHi", *options, "--checksum", "--delete",
                               os.path.join(one, ""), os.path.join(other, "")],
                              capture_output=True, check=True).stdout

    def small_tree(self, name="tree"):
        for inner, size in (("a", 10), ("b", 70_000), ("sub/c", 2_000_000), ("sub/d", 0), ("sub/deep/e", 5)):
            os.makedirs(os.path.dirname(os.path.join(self.folder(name), inner)), exist_ok=True)
            self.random_file(inner, size, name)
        return self.folder(name)

    def test_an_acl_on_xfs_comes_to_rest(self):
        """XFS shows it a second time, as a trusted attribute of its own."""
        setfacl = need_program("setfacl")
        server = self.server(root=small_xfs(self).folder)
        source = os.path.join(self.folder("local"), "tree")
        os.mkdir(source)
        self.file_with(os.path.join(source, "file"), b"content")
        subprocess.run([setfacl, "-m", "u:1234:r", os.path.join(source, "file")], check=True)
        self.assertEqual(self.client("sync", "--archive", source, server.url("tree")).code, DONE)
        again = self.client("sync", "--archive", source, server.url("tree"))
        self.assertEqual((again.code, again.summary["mended"]), (DONE, 0), str(again))
        back = os.path.join(self.folder("back"), "tree")
        self.assertEqual(self.client("get", "--archive", server.url("tree"), os.path.dirname(back)).code, DONE)
        self.assertEqual(os.listxattr(os.path.join(back, "file")), ["system.posix_acl_access"])

    def test_as_rsync_would_leave_it(self):
        rsync = need_program("rsync")
        need_isolation()
        source = os.path.join(self.scratch, "source")
        nasty(source, archive=True)
        theirs = self.folder("theirs")
        outdated(source, theirs, rsync)
        for get in (False, True):
            with self.subTest(get=get):
                ours = self.folder("back") if get else self.daemon.path("copy").decode()
                outdated(source, ours, rsync)
                if get:
                    subprocess.run([rsync, "-aHAXS", source + "/", self.daemon.path("source").decode() + "/"],
                                   check=True)
                places = (self.daemon.url("source"), ours) if get else (source, self.daemon.url("copy"))
                before = snapshot(ours)
                planned = self.sync("--archive", "--delete", "--dry-run", *places)
                self.assertEqual(snapshot(ours), before)
                result = self.sync("--archive", "--delete", *places)
                self.assertEqual(self.differences(source, ours, "-AX"), b"")
                self.assertEqual(sorted(self.changes(planned)), sorted(self.changes(result)))
                self.assertEqual(len(set(self.changes(result))), len(self.changes(result)))
                self.assertEqual(planned.summary["bytes"], 0)
                self.assertEqual(counts(planned), {**counts(result), "dry_run": True})
                # What was the same did not move, and nothing moves now.
                self.assertLess(result.summary["bytes"], 4_200_000)
                before = snapshot(ours)
                result = self.sync("--archive", "--delete", *places)
                self.assertEqual(self.changes(result), [])
                self.assertEqual((result.summary["files"], result.summary["bytes"]), (0, 0))
                self.assertEqual(snapshot(ours), before)
        subprocess.run([rsync, "-aHAX", "--delete", source + "/", theirs + "/"], check=True)
        self.assertEqual(self.differences(theirs, ours, "-AX"), b"")

    def test_a_dry_run_says_what_would_be(self):
        source = self.small_tree()
        to = self.folder("root/to")
        shutil.copy2(os.path.join(source, "a"), to)
        self.file_with(os.path.join(to, "b"), b"older")
        self.file_with(os.path.join(to, "gone"), b"1")
        options = ("--delete", source, self.daemon.url("to"))
        words = self.client("sync", "--dry-run", *options, json=False)
        self.assertEqual(words.code, DONE, str(words))
        self.assertEqual(sorted(set(words.stdout.splitlines()) - {"attributes ./"}),
                         ["create sub/", "create sub/c", "create sub/d", "create sub/deep/", "create sub/deep/e",
                          "delete gone", "replace b"])
        said = " would be created, 1 replaced, "
        self.assertIn("dry run, nothing was touched: 5" + said, words.stderr)
        self.assertIn(" 1 would be deleted; 1.97 MiB would move; 1 file, 10 B, would stay", words.stderr)
        for past in ("moved", "1 deleted", "verified", "stood"):
            self.assertNotIn(past, words.stderr)
        planned = self.sync("--dry-run", *options)
        done = self.sync(*options)
        self.assertEqual(counts(planned), {**counts(done), "dry_run": True})
        self.assertEqual((planned.summary["created"], planned.summary["replaced"], planned.summary["deleted"]), (5, 1, 1))
        self.assertEqual(planned.summary["planned_bytes"], done.summary["bytes"])
        self.assertEqual(sorted(self.changes(planned)), sorted(self.changes(done)))
        nothing = self.sync(*options)
        missing = self.sync("missing", self.daemon.url("to"), code=FILE_FAILED)
        self.assertEqual([run.summary["verdict"] is None for run in (planned, done, nothing, missing)],
                         [True, False, True, True])  # nothing was transferred

    def test_a_dry_run_leaves_the_list_of_what_is_left_over(self):
        left = os.path.join(self.scratch, "left")
        for names, code in ((self.small_tree(), DONE), ("missing", FILE_FAILED)):
            self.file_with(left, os.fsencode(names) + b"\0")
            before = os.stat(left).st_ctime_ns
            self.sync("--dry-run", "--from-file", left, "--left-over", left, self.daemon.url("to"), code=code)
            self.assertEqual(os.stat(left).st_ctime_ns, before)

    def test_a_dry_run_foresees_a_directory_in_the_way(self):
        source = self.small_tree()
        os.makedirs(self.daemon.path("to/a/inner"))
        said = []
        for options in (("--dry-run",), ()):
            result = self.sync(*options, source, self.daemon.url("to"), code=FILE_FAILED)
            self.assertIn("it is a directory", str(result))
            said.append((sorted(self.changes(result)), result.summary["planned_bytes"]))
        self.assertEqual(*said)
        back = self.folder("back")
        os.makedirs(os.path.join(back, "to/b"))
        got = self.client("get", self.daemon.url("to"), back)
        self.assert_failed(got, FILE_FAILED)
        self.assertEqual([(error["path"], error["message"]) for error in got.errors],
                         [(os.path.join(back, "to/b"), "cannot write: it is a directory; remove it")])
        cleared = self.sync("--dry-run", "--delete", source, self.daemon.url("to"))
        self.assertIn(("replace", "a"), self.changes(cleared))
        self.file_with(self.daemon.path("to/a/inner/kept.log"), b"")
        said = []
        for options in (("--dry-run",), ()):
            result = self.sync("--delete", "--exclude", "*.log", *options, source, self.daemon.url("to"), code=FILE_FAILED)
            self.assertIn("it is a directory", str(result))
            said.append((self.changes(result), [error["path"] for error in result.errors]))
        self.assertEqual(*said)

    def test_without_an_archive_and_into_nothing(self):
        source = self.small_tree()
        os.chmod(os.path.join(source, "a"), 0o4755)
        result = self.sync(source, self.daemon.url("new/place"))
        self.assertEqual(result.summary["files"], 5)
        result = self.sync(source + "/", self.daemon.url("new/place"))
        self.assertEqual((self.changes(result), result.summary["adopted"]), ([], 5))
        back = os.path.join(self.scratch, "back")
        self.assertEqual(self.sync(self.daemon.url("new/place"), back).summary["files"], 5)
        self.assertEqual(self.changes(self.sync(self.daemon.url("new/place/"), back)), [])
        self.assert_same(os.path.join(source, "sub/c"), os.path.join(back, "sub/c"))
        self.assertEqual(os.stat(self.daemon.path("new/place/a")).st_mode & 0o7777, 0o755)

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

    def test_one_file(self):
        file = self.random_file("f", 100_000)
        self.assertEqual(self.sync(file, self.daemon.url("g")).summary["files"], 1)
        self.assertEqual(self.sync(file, self.daemon.url("g")).summary["files"], 0)
        back = self.folder("back")
        self.assertEqual(self.sync(self.daemon.url("g"), back).summary["files"], 1)
        self.assertEqual(self.sync(self.daemon.url("g"), back).summary["files"], 0)
        self.assert_same(file, os.path.join(back, "g"))

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

    def test_further_names_of_what_stays(self):
        """They are files of their own then: what stands under the first name may hold anything."""
        source = self.small_tree()
        for name in ("b again", "sub/b too"):
            os.link(os.path.join(source, "b"), os.path.join(source, name))
        for option, when in (("--ignore-existing", 10**18), ("--update", 10**18 * 3)):
            with self.subTest(option):
                there = self.daemon.path(option[2:]).decode()
                os.makedirs(there)
                self.file_with(os.path.join(there, "b"), b"stays")
                os.utime(os.path.join(there, "b"), ns=(when, when))
                self.sync(option, source, self.daemon.url(option[2:]))
                with open(os.path.join(there, "b"), "rb") as file:
                    self.assertEqual(file.read(), b"stays")
                for name in ("b again", "sub/b too"):
                    self.assert_same(os.path.join(source, "b"), os.path.join(there, name))
                self.assertEqual(self.changes(self.sync(option, source, self.daemon.url(option[2:]))), [])

    def test_two_files_that_are_one_there(self):
        """Else each sync gave that one the mode of the other."""
        source, target = self.folder("tree"), os.fsdecode(self.daemon.path("to"))
        os.makedirs(target)
        for name, mode in (("a", 0o644), ("b", 0o600)):
            path = self.file_with(os.path.join(source, name), b"the same")
            os.utime(path, ns=(10**18, 10**18))
            os.chmod(path, mode)
        shutil.copy2(os.path.join(source, "a"), os.path.join(target, "a"))
        os.link(os.path.join(target, "a"), os.path.join(target, "b"))
        for changes in ({("replace", "b")}, set()):
            result = self.sync(source, self.daemon.url("to"))
            self.assertEqual(set(self.changes(result)) - {("attributes", ".")}, changes)
            self.assertEqual([os.stat(os.path.join(target, name)).st_mode & 0o777 for name in ("a", "b")], [0o644, 0o600])

    def test_names_of_two_files_that_are_one_there(self):
        """As many as each has at the source, or more."""
        source = self.folder("tree")
        for names, mode in (("ax", 0o600), ("by", 0o644)):
            path = self.file_with(os.path.join(source, names[0]), b"the same")
            os.utime(path, ns=(10**18, 10**18))
            os.chmod(path, mode)
            os.link(path, os.path.join(source, names[1]))
        for place, there in (("one", ("abxy",)), ("two", ("ab", "xy")), ("crossed", ("ay", "bx"))):
            with self.subTest(place):
                target = os.fsdecode(self.daemon.path(place))
                os.makedirs(target)
                for names in there:
                    first = os.path.join(target, names[0])
                    shutil.copy2(os.path.join(source, "b"), first)
                    for name in names[1:]:
                        os.link(first, os.path.join(target, name))
                self.sync(source, self.daemon.url(place))
                self.assertEqual(self.differences(source, target), b"")
                self.assertEqual(self.changes(self.sync(source, self.daemon.url(place))), [])

    def test_a_destination_that_is_a_link_is_never_replaced(self):
        source = self.small_tree()
        shown = os.path.join(self.home, "unmounted")
        outside = self.folder("outside")
        for name, to in (("gone", "nowhere"), ("out", outside), ("circle", "circle")):
            with self.subTest(name):
                link = self.daemon.path(name)
                os.symlink(to, link)
                for place in (name, name + "/"):
                    for options in (("--dry-run",), ()):
                        result = self.sync(*options, source, self.daemon.url(place), code=FILE_FAILED)
                        self.assertNotIn("create", [what for what, path in self.changes(result) if path in (".", "")])
                        self.assertEqual(os.readlink(link), os.fsencode(to))
        self.assertEqual(os.listdir(outside), [])
        link = os.path.join(self.home, "backup")
        os.symlink(shown, link)
        self.sync(source, self.daemon.url("copy"))
        self.sync(self.daemon.url("copy"), link, code=FILE_FAILED)
        self.assertEqual(os.readlink(link), shown)
        os.mkdir(shown)
        self.sync(self.daemon.url("copy"), link)
        self.assertEqual(self.differences(source, shown), b"")

    def test_a_file_with_further_names_that_is_replaced_on_the_way(self):
        """The others would get another file's content with it."""
        source = self.folder("tree")
        os.makedirs(os.path.join(source, "a"))
        for number in range(1000):
            self.random_file(f"a/{number}", 66_000, "tree")
        one, other = (os.path.join(source, name) for name in ("one", "other"))
        self.file_with(one, b"the old one")
        os.link(one, other)
        process = self.start("sync", "--memory", "96MiB", "--rate-limit", "150Mbit/s", source, self.daemon.url("to"))
        wait_for(lambda: os.path.exists(self.daemon.path("to/a/1")), "one of the first files")
        os.rename(self.file_with(os.path.join(self.home, "new"), b"another"), one)
        process.wait()
        result = Result(process)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        for name in ("one", "other"):
            self.assertFalse(os.path.exists(self.daemon.path("to/" + name)), name)
            self.assertIn(name, [os.path.basename(error["path"]) for error in result.errors])

    def test_a_named_file_that_has_further_names_there(self):
        source, target = self.file_with(os.path.join(self.folder("local"), "a"), b"the same"), self.daemon.path("to")
        shutil.copy2(source, target)
        os.link(target, self.daemon.path("another"))
        os.chmod(source, 0o600)
        before = os.stat(self.daemon.path("another")).st_mode
        self.assertEqual(self.changes(self.sync(source, self.daemon.url("to"))), [("replace", "a")])
        self.assertEqual(os.stat(self.daemon.path("another")).st_mode, before)
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o600)

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

    def test_attributes_alone_do_not_move_a_file(self):
        source = self.small_tree()
        self.sync(source, self.daemon.url("to"))
        inode = os.stat(self.daemon.path("to/sub/c")).st_ino
        os.chmod(os.path.join(source, "sub/c"), 0o751)
        result = self.sync(source, self.daemon.url("to"))
        self.assertEqual(self.changes(result), [("attributes", "sub/c")])
        self.assertEqual((result.summary["files"], result.summary["mended"]), (0, 1))
        there = os.stat(self.daemon.path("to/sub/c"))
        self.assertEqual((there.st_ino, stat.S_IMODE(there.st_mode)), (inode, 0o751))

    def test_by_digest(self):
        source = self.small_tree()
        os.link(os.path.join(source, "b"), os.path.join(source, "sub/b again"))
        self.sync(source, self.daemon.url("to"))
        rotten = self.daemon.path("to/sub/c")
        when = os.stat(rotten).st_mtime_ns
        with open(rotten, "r+b") as file:
            file.seek(1_500_000)
            file.write(b"rot")
        os.utime(rotten, ns=(when, when))
        os.utime(os.path.join(source, "b"), ns=(5, 5))
        self.assertEqual(self.changes(self.sync(self.daemon.url("to"), source, "--dry-run"))[0][0], "replace")
        for get in (False, True):
            back = os.path.join(self.scratch, "back")
            places = (self.daemon.url("to"), back) if get else (source, self.daemon.url("to"))
            if get:
                shutil.copytree(source, back)
            result = self.sync("--checksum", *places)
            if not get:
                self.assertEqual(set(self.changes(result)), {("attributes", "b"), ("replace", "sub/c")})
            self.assertEqual(result.summary["files"], 0 if get else 1)
            self.assert_same(os.path.join(source, "sub/c"), os.path.join(places[1], "sub/c") if get else rotten)
            again = self.sync("--checksum", *places)
            self.assertEqual(self.changes(again), [])
            self.assertEqual(again.summary["bytes"], 0)
        # A put of the tree takes it too.
        with open(rotten, "r+b") as file:
            file.write(b"rot")
        os.utime(rotten, ns=(when, when))
        self.assertEqual(self.client("put", source + "/", self.daemon.url("to")).summary["files"], 0)
        self.assertEqual(self.client("put", "--checksum", source + "/", self.daemon.url("to")).summary["files"], 1)
        self.assert_same(os.path.join(source, "sub/c"), rotten)

    def test_words_that_make_no_sense(self):
        source = self.small_tree()
        limits = [("sync", "--delete", "--max-delete", number, source)
                  for number in ("-1", "", " 1", "1k", "0x1", "18446744073709551616")]
        for arguments in (("put", "--delete", source), ("sync", "--max-delete", "3", source), ("sync", source, source),
                          *limits):
            result = self.client(*arguments, self.daemon.url("to"))
            self.assert_failed(result, USAGE)
        for option in (("--detach",), ("--connect", "source"), ("--source-password-file", self.client_password)):
            self.assert_failed(self.client("sync", *option, source, self.daemon.url("to")), USAGE)
        self.assert_failed(self.client("sync", source, self.folder("other")), USAGE)
        self.assert_failed(self.client("sync", os.path.join(source, "none"), self.daemon.url("to")), FILE_FAILED)

    def test_a_file_system_that_keeps_whole_seconds(self):
        image = Image(self, ["mkfs.ext4", "-q", "-m", "0", "-I", "128"], 16 * MIB)
        os.makedirs(os.path.join(image.folder, "root"))
        server = self.server(root=os.path.join(image.folder, "root"))
        source = self.small_tree()
        first = self.sync(source, server.url("to"))
        self.assertGreater(first.summary["files"], 0)
        for again in ((), ("--checksum",)):
            second = self.sync(*again, source, server.url("to"))
            self.assertEqual([second.summary[what] for what in ("files", "replaced", "attributes")], [0, 0, 0])
        os.utime(os.path.join(source, "sub/c"), ns=(0, os.stat(os.path.join(source, "sub/c")).st_mtime_ns + 10**9))
        self.assertEqual(self.sync(source, server.url("to")).summary["files"], 1)
        server.kill()
        image.unmount_once_free()

    def test_files_of_a_tree_that_were_done_do_not_move_again(self):
        need_isolation()
        for number in range(40):
            self.random_file(f"{number:02}", 500_000, "tree/sub")
        source = os.path.join(self.scratch, "tree")
        slowly = ("--rate-limit", "80Mbit/s")
        back = os.path.join(self.scratch, "back")
        for get in (False, True):
            with self.subTest(get=get):
                there = os.path.join(back, "sub") if get else self.daemon.path("to/sub").decode()
                first = ("get", *slowly, self.daemon.url("to"), back) if get else \
                    ("put", *slowly, source, self.daemon.url("to"))
                client = self.start(*first)
                wait_for(lambda: os.path.exists(os.path.join(there, "19")), "half of the files", alive=client.running)
                client.kill()
                done = len([name for name in os.listdir(there) if not name.startswith(".")])
                begin = carried()
                again = ("get", self.daemon.url("to/"), back) if get else ("put", source + "/", self.daemon.url("to"))
                result = self.client(*again)
                self.assertEqual(result.code, DONE, str(result))
                moved = carried() - begin
                self.assertGreaterEqual(result.summary["adopted"], done)
                self.assertEqual(result.summary["adopted"] + result.summary["files"], 40)
                self.assertLess(moved, (40 - done) * 500_000 * 1.1 + 1_000_000)
                self.assertEqual(self.differences(source, os.path.dirname(there)), b"")


class ManyNames(LabCase):
    scratch_in = "/dev/shm"

    def setUp(self):
        need(Settings.long, "makes 100,000 files: --long")
        super().setUp()

    def test_a_hundred_thousand_files_over_a_long_path(self):
        source = self.folder("source")
        for folder in range(100):
            os.mkdir(os.path.join(source, f"folder{folder}"))
            for number in range(1000):
                self.file_with(os.path.join(source, f"folder{folder}", f"file-{number}.dat"), b"%d" % number)
        shutil.copytree(source, os.path.join(self.folder("root"), "copy"))
        back = os.path.join(self.scratch, "back")
        shutil.copytree(source, back)
        for ask in (self.ask("sync", "--delete", source, self.remote("copy")),
                    self.ask("sync", "--delete", self.remote("copy"), back)):
            run = self.lab("--rate", "1Gbit/s", "--rtt", "100ms", *self.serving(), main=ask, seconds=120)
            summary = json.loads(run.stdout.splitlines()[-1])
            self.assertEqual((summary["adopted"], summary["bytes"], summary["deleted"]), (100_000, 0, 0))
            self.assertLess(summary["seconds"], 5)
