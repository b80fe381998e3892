"""sync, and trees that go on: as rsync would leave them, and nothing moves that stands there."""

import json
import os
import shutil
import stat
import subprocess

from disks import Image, small_xfs
from harness import DONE, FILE_FAILED, MIB, USAGE, Settings, need, need_isolation, need_program, wait_for
from labs import LabCase
from syncs import SyncCase
from trees import nasty, outdated, snapshot


def carried():
    """Bytes that the loopback of this namespace has carried."""
    with open("/sys/class/net/lo/statistics/tx_bytes") as file:
        return int(file.read())


def counts(result):
    """What a sync says in sums, or of a dry run would do."""
    return {key: result.summary[key] for key in ("dry_run", "created", "replaced", "attributes", "deleted", "planned_bytes")}


class Sync(SyncCase):
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

    def test_one_file(self):
        file = self.random_file("f", 100_000)
        self.assertEqual(self.sync(file, self.daemon.url("g")).summary["files"], 1)
        self.assertEqual(self.sync(file, self.daemon.url("g")).summary["files"], 0)
        back = self.folder("back")
        self.assertEqual(self.sync(self.daemon.url("g"), back).summary["files"], 1)
        self.assertEqual(self.sync(self.daemon.url("g"), back).summary["files"], 0)
        self.assert_same(file, os.path.join(back, "g"))

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
