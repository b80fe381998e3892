"""Trees: both ways, as rsync sees them; what is left out; what must never happen."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess

from harness import DONE, FILE_FAILED, MIB, USAGE, Case, Result, Settings, need, need_isolation, need_program
from trees import nasty


class Trees(Case):
    def setUp(self):
        super().setUp()
        # xattrs and holes of a real file system; /tmp may be one in memory.
        self.daemon = self.server(root=self.folder("root"))

    def differences(self, source, copy, *options):
        rsync = need_program("rsync")
        return subprocess.run([rsync, "-anHi", *options, "--checksum", "--delete", os.path.join(source, ""),
                               os.path.join(copy, "")], capture_output=True, check=True).stdout

    def both_ways(self, source, options, archive):
        put = self.client("put", *options, source, self.daemon.url("copy"))
        self.assertEqual(put.code, 0, str(put))
        back = os.path.join(self.scratch, "back")
        get = self.client("get", *options, self.daemon.url("copy"), back)
        self.assertEqual(get.code, 0, str(get))
        kept = ("-AX",) if archive else ("--no-owner", "--no-group")
        self.assertEqual(self.differences(source, self.daemon.path("copy").decode(), *kept), b"")
        self.assertEqual(self.differences(source, back, *kept), b"")
        self.assertEqual(self.daemon.parts(), [])
        for name in ("zero", "block", "dangling", "empty", "read only"):
            self.assertEqual(os.lstat(os.path.join(back, name)).st_mtime_ns,
                             os.lstat(os.path.join(source, name)).st_mtime_ns, name)
        self.assertLess(os.stat(os.path.join(back, "holes")).st_blocks * 512, 4_000_000)
        # Again, over what is there.
        put = self.client("put", *options, source + "/", self.daemon.url("copy"))
        self.assertEqual(put.code, 0, str(put))
        self.assertEqual(self.differences(source, self.daemon.path("copy").decode(), *kept), b"")
        return put

    def test_a_nasty_tree_both_ways(self):
        source = os.path.join(self.scratch, "source")
        nasty(source, archive=False)
        self.both_ways(source, [], archive=False)

    def test_an_archive_of_it(self):
        need_isolation()
        source = os.path.join(self.scratch, "source")
        nasty(source, archive=True)
        self.both_ways(source, ["--archive"], archive=True)

    def test_a_closed_directory_is_never_open_to_others(self):
        source = self.folder("tree")
        for number in range(12):
            self.random_file("small", 10, f"tree/{number}/deep")
            self.random_file("large", 3 * MIB, f"tree/{number}/deep")
            for path in (f"{number}/deep", f"{number}"):
                os.chmod(os.path.join(source, path), 0o700)
        back = os.path.join(self.scratch, "back")
        for arguments, there in ((("put", source, self.daemon.url("to")), self.daemon.path("to").decode()),
                                 (("get", self.daemon.url("to"), back), back)):
            mover = self.start(*arguments, "--rate-limit", "80Mbit/s")
            self.wait_for_part(there, mover, MIB)
            open_to_others = [where for where, _, _ in os.walk(there) if where != there and os.stat(where).st_mode & 0o077]
            self.assertEqual(open_to_others, [])
            self.assertEqual(Result(mover).code, 0)

    def test_where_trees_land(self):
        source = self.folder("tree")
        self.random_file("f", 10, "tree")
        os.mkdir(self.daemon.path("there"))
        for arguments, lands in (((source, "new/name"), "new/name/f"), ((source, "there"), "there/tree/f"),
                                 ((source, "slash/"), "slash/tree/f"), ((source + "/", "there"), "there/f"),
                                 ((source + "/", "contents"), "contents/f"),
                                 ((source, os.path.join(source, "f"), "several"), "several/tree/f")):
            with self.subTest(arguments=arguments):
                *sources, target = arguments
                result = self.client("put", *sources, self.daemon.url(target))
                self.assertEqual(result.code, 0, str(result))
                self.assertTrue(os.path.exists(self.daemon.path(lands)))
        for remote, local, lands in (("new/name", "g1", "g1/f"), ("new/name/", "g2", "g2/f"), ("there", "g3/", "g3/there/f"),
                                     ("sl*/t*/f", "g4", "g4/f"), ("th*/tree", "g5", "g5/tree/f")):
            with self.subTest(remote=remote):
                target = os.path.join(self.scratch, local)
                result = self.client("get", f"{self.daemon.url()}{remote}", target)
                self.assertEqual(result.code, 0, str(result))
                self.assertTrue(os.path.exists(os.path.join(self.scratch, lands)), lands)

    def test_lists_of_names(self):
        names = [self.random_file(name, 100) for name in ("a b", "new\nline", "-c")]
        listing = self.file_with(os.path.join(self.scratch, "names"), b"\0".join(names) + b"\0")
        result = self.client("put", "--from-file", listing, self.daemon.url("to"))
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(sorted(os.listdir(self.daemon.path("to"))), [b"-c", b"a b", b"new\nline"])

    def test_an_empty_list_is_a_success(self):
        listing = self.file_with(os.path.join(self.scratch, "names"), b"\n\n")
        for verb, there in (("put", self.daemon.url("to")), ("get", self.folder("back")), ("sync", self.daemon.url("to"))):
            result = self.client(verb, "--from-file", listing, there)
            self.assertEqual((result.code, result.summary["files"]), (0, 0), str(result))
            self.assertIn("names no source", result.stderr)
        self.assertFalse(os.path.exists(self.daemon.path("to")))
        outputs = "--receipt", "r", "--left-over", os.path.join(os.getcwd(), "r")
        for arguments in (("put", "nohost"), ("put", self.daemon.url("to"), *outputs), ("get", self.daemon.url("to")),
                          ("sync", self.daemon.url("to"), *outputs)):
            with self.subTest(arguments=arguments):
                verb, *others = arguments
                self.assert_failed(self.client(verb, "--from-file", listing, *others), USAGE)

    def test_special_files_are_skipped_and_said(self):
        source = self.folder("tree")
        os.mkfifo(os.path.join(source, "pipe"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(source, "socket"))
        self.random_file("f", 10, "tree")
        result = self.client("put", source, self.daemon.url("to"))
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("pipe", result.stderr)
        self.assertEqual(result.summary["skipped"], 2)
        self.assertEqual(os.listdir(self.daemon.path("to")), [b"f"])

    def test_what_is_no_file_in_the_target_tree_is_replaced_and_not_written(self):
        source, target = self.folder("tree"), self.daemon.path("special")
        self.file_with(os.path.join(source, "small"), b"small")
        self.random_file("large", 300_000, "tree")
        for verbs in (("sync", 2), ("sync", 0)), (("put", 2),):
            shutil.rmtree(target, ignore_errors=True)
            os.makedirs(target)
            for name in (b"small", b"large"):
                os.mkfifo(os.path.join(target, name))
            for verb, moves in verbs:
                result = self.client(verb, source + "/", self.daemon.url("special"))
                self.assertEqual((result.code, result.summary["files"]), (DONE, moves), str(result))
            for name in ("small", "large"):
                self.assert_same(os.path.join(source, name), self.daemon.path(f"special/{name}"))

    def test_a_name_too_long_is_left_out_of_a_sync_alone(self):
        source = self.folder("tree")
        self.random_file("file", 10, "tree")
        level = os.open(source, os.O_RDONLY)
        for _ in range(20):  # deeper than one call may name
            os.mkdir("d" * 250, dir_fd=level)
            below = os.open("d" * 250, os.O_RDONLY, dir_fd=level)
            os.close(level)
            level = below
        os.close(level)
        for _ in range(2):
            result = self.client("sync", source, self.daemon.url("deep"))
            self.assert_failed(result, FILE_FAILED)
            self.assertIn("more than 4096 bytes", result.stderr)
            self.assert_same(os.path.join(source, "file"), self.daemon.path("deep/file"))

    def test_paths_that_no_call_takes_in_one_piece(self):
        content = self.random.randbytes(3 * MIB)
        top = self.folder("root/tree")
        target = os.path.join(self.folder("b" * 200), "b" * 200, "got")

        def at_the_bottom(folder, work):
            level = os.open(folder, os.O_RDONLY)
            for _ in range(15):
                with contextlib.suppress(FileExistsError):
                    os.mkdir("d" * 250, dir_fd=level)
                level, outer = os.open("d" * 250, os.O_RDONLY, dir_fd=level), level
                os.close(outer)
            for name in ("small", "large"):
                work(lambda path, flags: os.open(path, flags, 0o644, dir_fd=level), name)
            os.close(level)

        def write(opener, name):
            with open(name, "wb", opener=opener) as file:
                file.write(content[:1000] if name == "small" else content)

        def compare(opener, name):
            with open(name, "rb", opener=opener) as file:
                self.assertTrue(file.read() == (content[:1000] if name == "small" else content), name)

        at_the_bottom(top, write)
        self.transfer("get", self.daemon.url("tree/"), target, files=2)
        at_the_bottom(target, compare)

    def test_one_name_twice(self):
        first, other = (os.fsdecode(self.random_file("f", size, folder)) for size, folder in ((100, "a"), (200, "b")))
        both = [os.path.dirname(each) for each in (first, other)]
        self.random_file("in a", 10, "a/d")
        self.random_file("in b", 10, "b/d")
        result = self.client("put", first, first, self.daemon.url("same/"))
        self.assertEqual((result.code, result.summary["files"]), (DONE, 1), str(result))
        result = self.client("put", *[os.path.join(each, "d") for each in both], self.daemon.url("joined/"))
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(sorted(os.listdir(self.daemon.path("joined/d"))), [b"in a", b"in b"])
        result = self.client("put", first, other, self.daemon.url("first/"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn(f"would land where '{first}' does", result.stderr)
        self.assert_same(first, self.daemon.path("first/f"))

    def test_further_names_stay_of_a_file_whose_name_another_source_has(self):
        base, overlay = self.folder("base"), self.folder("overlay")
        for folder, content in ((base, b"1"), (overlay, b"22")):
            self.file_with(os.path.join(folder, "x"), content)
        os.link(os.path.join(base, "x"), os.path.join(base, "y"))
        result = self.client("put", base + "/", overlay + "/", self.daemon.url("names/"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(result.stderr.count("would land where"), 1, result.stderr)
        self.assertNotIn("another name of", result.stderr)
        self.assertTrue(os.path.samefile(self.daemon.path("names/x"), self.daemon.path("names/y")))

    def test_what_a_cut_transfer_left_is_not_sent(self):
        server = self.server()
        tree = self.folder("tree")
        partial = b".lambda-" + b"0123456789abcdef" * 2 + b".part"
        for name in (partial, b"file"):
            with open(os.path.join(os.fsencode(tree), name), "wb") as file:
                file.write(name)
        result = self.client("put", tree, server.url("there"))
        self.assertEqual(result.code, DONE, str(result))
        self.assertIn("what a transfer writes", result.stderr)
        self.assertEqual(os.listdir(os.fsencode(server.path("there"))), [b"file"])

    def test_patterns_as_rsync_takes_them(self):
        rsync = need_program("rsync")
        source = self.folder("src")
        for name in ("a.o", "a.c", "lib/a.o", "lib/deep/b.o", "lib/deep/x.c", "foo/bar/baz", "bar/baz", "foo/x", "tmp/y",
                     "sub/tmp/z", "core", "sub/core/in", "[x]", "b\\c", ".git/config", "sub/.git/head"):
            os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
            self.file_with(os.path.join(source, name), b"")
        cases = [["--exclude=*.o"], ["--exclude=/src/a.o"], ["--exclude=/lib/"], ["--exclude=lib/"], ["--exclude=core/"],
                 ["--exclude=bar/baz"], ["--exclude=foo/**"], ["--exclude=**/baz"], ["--exclude=foo/***"],
                 ["--include=*/", "--include=*.c", "--exclude=*"], ["--exclude=[[]x]"], ["--exclude=b\\c"],
                 ["--exclude=?.o"], ["--exclude=[!a].o"], ["--exclude=lib/*/b.o"], ["--exclude=/*/lib/**.o"],
                 ["--exclude=**/.git/"], ["--exclude=- x", "--exclude=+ a.o", "--exclude=*.o"], ["--exclude=src"],
                 ["--exclude=/src/lib", "--include=lib"], ["--exclude=l[a-k]b"], ["--exclude=deep/b*"],
                 ["--exclude=**/***/"], ["--exclude=core***/"], ["--exclude=[!/]"], ["--exclude=[a-c/]*"],
                 ["--exclude=*.o", "--exclude=!", "--exclude=lib/"], ["--exclude=!x", "--exclude=*.c"]]
        for number, options in enumerate(cases):
            for slash in ("", "/"):
                if slash and number % 3:
                    continue
                with self.subTest(options=options, slash=slash):
                    theirs, ours = self.folder("theirs"), f"ours-{number}{'c' if slash else ''}"
                    shutil.rmtree(theirs)
                    subprocess.run([rsync, "-r", *options, source + slash, theirs + "/"], check=True)
                    result = self.client("put", *options, source + slash, self.daemon.url(ours) + "/")
                    self.assertEqual(result.code, 0, str(result))
                    self.assertEqual(self.names_below(self.daemon.path(ours)), self.names_below(theirs))

    @staticmethod
    def names_below(folder):
        folder = os.fsencode(folder)
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, folders, names in os.walk(folder) for name in folders + names)

    def test_never_out_of_the_root(self):
        outside = self.folder("outside")
        self.file_with(os.path.join(outside, "victim"), b"safe")
        source = self.folder("tree")
        os.makedirs(os.path.join(source, "sub"))
        self.random_file("sub/f", 10, "tree")
        self.random_file("sub/big", 200_000, "tree")
        os.makedirs(self.daemon.path("to"))
        for target in (outside, "../outside", "."):
            with self.subTest(target=target):
                if os.path.islink(self.daemon.path("to/sub")):
                    os.unlink(self.daemon.path("to/sub"))
                os.symlink(target, self.daemon.path("to/sub"))
                result = self.client("put", source + "/", self.daemon.url("to"))
                self.assertEqual(result.code, FILE_FAILED, str(result))
                self.assertEqual(os.listdir(outside), ["victim"])
                self.assertEqual(os.listdir(self.daemon.path("to")), [b"sub"])
        # Nor does a sender follow links out of its root, whatever it was asked for.
        os.symlink(outside, self.daemon.path("to/way"))
        back = os.path.join(self.scratch, "back")
        result = self.client("get", "--links", "follow", self.daemon.url("to"), back)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertFalse(os.path.exists(os.path.join(back, "way/victim")))
        self.assertEqual(self.client("get", self.daemon.url("to/way/victim"), back).code, FILE_FAILED)

    def test_what_fails_fails_alone(self):
        need_isolation()
        source = self.folder("tree")
        for name in ("a", "sub/b", "sub/c", "z"):
            os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
            self.random_file(name, 5000, "tree")
        os.makedirs(self.daemon.path("to/sub/b"))
        result = self.client("put", source + "/", self.daemon.url("to"))
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertEqual(result.summary["files"], 3, str(result))
        self.assertEqual(len(result.errors), 1, str(result))
        for name in ("a", "sub/c", "z"):
            self.assert_same(os.path.join(source, name), self.daemon.path("to/" + name))


class LargeTrees(Case):
    scratch_in = "/var/tmp"

    def setUp(self):
        need(Settings.long, "takes many minutes: --long")
        super().setUp()

    def moved(self, tree):
        """Put, got and synced both ways: rsync finds no difference, from either side."""
        need_isolation()
        rsync = need_program("rsync")
        daemon = self.server()
        local = self.folder("copies")
        for words, copy in (
                (("put", tree, daemon.url("put")), daemon.path("put").decode()),
                (("get", daemon.url("put"), local + "/got"), local + "/got"),
                (("sync", "--delete", tree + "/", daemon.url("synced")), daemon.path("synced").decode()),
                (("sync", "--delete", daemon.url("synced") + "/", local + "/back"), local + "/back")):
            result = self.client(words[0], "--archive", *words[1:], seconds=1800)
            self.assertEqual(result.code, 0, str(result))
            for one, other in ((tree, copy), (copy, tree)):
                compared = subprocess.run([rsync, "-anHAXi", "--checksum", "--delete", one + "/", other + "/"],
                                          capture_output=True, check=True)
                self.assertEqual(compared.stdout, b"", words)
        return result.summary["files"]

    def test_usr_both_ways(self):
        self.moved("/usr")

    def test_a_kernel_source_both_ways(self):
        archives = glob.glob("/usr/src/linux-source-*.tar.*")
        need(archives, "the package linux-source is not installed")
        tree = self.folder("source")
        subprocess.run(["tar", "-xf", archives[0], "-C", tree, "--strip-components=1"], check=True)
        self.assertGreater(self.moved(tree), 50_000)

    def test_a_million_names(self):
        source = self.folder("many")
        for folder in range(1000):
            os.mkdir(os.path.join(source, str(folder)))
            for number in range(1000):
                os.close(os.open(os.path.join(source, str(folder), str(number)), os.O_CREAT | os.O_WRONLY))
        daemon = self.server()
        result = self.client("put", source, daemon.url("many"), seconds=1800)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.summary["files"], 1_000_000)
        self.assertLess(result.peak_mib, 400)
        self.assertLess(daemon.peak_now_mib(), 400)

