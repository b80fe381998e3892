"""A tree that becomes its target under a new name: the same command, run again, goes on with it."""

import os
import shutil
import signal
import stat

from harness import CUT, DONE, FILE_FAILED, MIB, Case
from journals import durable_bytes, until_durable


class LandingAgain(Case):
    SLOWLY = ("--rate-limit", "40Mbit/s", "--stripes", "2")  # 5 MB/s; two blocks at a time
    EXCLUDE = ("--exclude", "/tree/left out")  # anchored: of the tree's own name
    SIZES = {"a": 1000, "d/big": 12 * MIB + 5}

    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def tree(self, folder):
        top = os.path.join(self.folder(folder), "tree")
        for name, size in self.SIZES.items():
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            self.random_file(f"tree/{name}", size, folder=folder)
        self.file_with(os.path.join(top, "left out"), b"not to be sent")
        os.chmod(top, 0o750)
        return top

    def marks(self):
        try:
            return os.listdir(os.path.join(self.home, ".local/state/lambda-ftp/landings"))
        except FileNotFoundError:
            return []

    def cut(self, number, target, *arguments):
        """Runs it until some of it is durable. Returns what was then."""
        client = self.start(*arguments, *self.SLOWLY)
        until_durable(target, client, 2 * MIB)
        client.signal(number)
        self.assertEqual(client.wait(), CUT if number == signal.SIGINT else -number, client.stderr)
        self.assertEqual(len(self.marks()), 1)
        return durable_bytes(target)

    def go_on(self, before, *arguments):
        result = self.client(*arguments)
        self.assertEqual(result.code, DONE, str(result))
        told = result.summary
        self.assertGreaterEqual(told["bytes_kept"], before, str(result))
        self.assertEqual(told["bytes"] + told["bytes_kept"] + told["adopted_bytes"], sum(self.SIZES.values()))
        self.assertIn("went on where it was cut", result.stderr)
        self.assertIn(" itself, as the run that was cut", result.stderr)
        self.assertEqual(self.marks(), [])

    def assert_same_tree(self, top, copy):
        found = {os.path.relpath(os.path.join(os.fsdecode(where), name), os.fsdecode(copy))
                 for where, _, names in os.walk(os.fsdecode(copy)) for name in names}
        self.assertEqual(found, set(self.SIZES))
        for name in self.SIZES:
            self.assert_same(os.path.join(top, name), os.path.join(os.fsdecode(copy), name))
        self.assertEqual(stat.S_IMODE(os.stat(copy).st_mode), 0o750)

    def test_put(self):
        top = self.tree("local")
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number=number):
                name = f"deep/new-{number}"
                there = self.daemon.path(name)
                command = ("put", *self.EXCLUDE, top, self.daemon.url(name))
                before = self.cut(number, there, *command)
                self.go_on(before, *command)
                self.assert_same_tree(top, there)
        # What came to its end is a directory like any other.
        self.assertEqual(self.client(*command).code, DONE)
        self.assertEqual(sorted(os.listdir(there)), [b"a", b"d", b"tree"])
        self.assert_same_tree(top, os.path.join(there, b"tree"))

    def test_get(self):
        top = self.tree("root")
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number=number):
                here = os.path.join(self.folder("back"), f"new-{number}")
                command = ("get", *self.EXCLUDE, self.daemon.url("tree"), here)
                before = self.cut(number, here, *command)
                self.go_on(before, *command)
                self.assert_same_tree(top, here)
        self.assertEqual(self.client(*command).code, DONE)
        self.assertEqual(sorted(os.listdir(here)), ["a", "d", "tree"])
        self.assert_same_tree(top, os.path.join(here, "tree"))

    def test_a_target_that_is_gone_is_made_anew(self):
        top = self.tree("local")
        put = ("put", *self.EXCLUDE, top, self.daemon.url("new"))
        self.cut(signal.SIGKILL, self.daemon.path("new"), *put)
        shutil.rmtree(self.daemon.path("new"))
        self.assertEqual(self.client(*put).code, DONE)
        self.assert_same_tree(top, self.daemon.path("new"))
        here = os.path.join(self.folder("back"), "new")
        get = ("get", self.daemon.url("new"), here)
        self.cut(signal.SIGKILL, here, *get)
        shutil.rmtree(here)
        self.assertEqual(self.client(*get).code, DONE)
        self.assert_same_tree(top, here)

    def test_another_directory_of_that_name_takes_it_as_any(self):
        top = self.tree("root")
        here = os.path.join(self.folder("back"), "new")
        get = ("get", *self.EXCLUDE, self.daemon.url("tree"), here)
        self.cut(signal.SIGINT, here, *get)
        os.rename(here, here + "-aside")
        os.mkdir(here)
        mine = self.file_with(os.path.join(here, "a"), b"mine")
        self.assertEqual(self.client(*get).code, DONE)
        self.assertEqual(os.path.getsize(mine), 4)
        self.assert_same_tree(top, os.path.join(here, "tree"))

    def test_of_a_target_that_could_not_be_made_nothing_is_kept(self):
        top = self.tree("local")
        there = self.file_with(self.daemon.path("new"), b"a file")
        put = ("put", *self.EXCLUDE, top, self.daemon.url("new"))
        refused = self.client(*put)
        self.assert_failed(refused, FILE_FAILED)
        self.assertIn("/new (on the server): cannot be made: something else stands there", refused.stderr)
        self.assertEqual(self.marks(), [])
        os.unlink(there)
        os.mkdir(there)
        theirs = self.file_with(os.path.join(there, b"a"), b"theirs")
        self.assertEqual(self.client(*put).code, DONE)
        self.assertEqual(os.path.getsize(theirs), 6)
        self.assert_same_tree(top, self.daemon.path("new/tree"))

    def test_what_fails_at_the_server_is_named_as_it_stands_there(self):
        top = self.tree("local")
        server = self.server(root=self.folder("short"), launcher=("prlimit", f"--fsize={MIB}"))
        result = self.client("put", top, server.url("new"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("/new/d/big (on the server): ", result.stderr)

    def test_a_source_that_became_a_file_lands_in_the_directory(self):
        top = self.tree("root")
        here = os.path.join(self.folder("back"), "new")
        get = ("get", self.daemon.url("tree"), here)
        self.cut(signal.SIGKILL, here, *get)
        shutil.rmtree(top)
        self.file_with(top, b"a file by now")
        self.transfer(*get)
        self.assert_same(top, os.path.join(here, "tree"))
        self.assertEqual(self.marks(), [])

    def test_a_home_that_keeps_nothing(self):
        top = self.tree("local")
        os.unlink(os.path.join(top, "left out"))
        self.file_with(os.path.join(self.home, ".local"), b"in the way")
        client = self.start("put", "--left-over", os.path.join(self.scratch, "left"), *self.SLOWLY, top,
                            self.daemon.url("new"))
        self.wait_for_part(self.daemon.path("new"), client, MIB)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        self.assertIn(f"name the source {top}/\n", client.stderr)
        self.assertEqual(self.client("put", top + "/", self.daemon.url("new")).code, DONE)
        self.assert_same_tree(top, self.daemon.path("new"))
