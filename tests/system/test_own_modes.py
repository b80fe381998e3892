"""A receiver that is not root, and files and directories that their own modes close to it."""

import os
import stat
import subprocess

from harness import DONE, FILE_FAILED, Case, Process, Result, Settings, need_isolation

NOBODY = 65534


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class OwnModes(Case):
    def setUp(self):
        super().setUp()
        need_isolation()
        self.daemon = self.server(user=NOBODY)
        self.source = self.folder("source")

    def moved(self, *arguments):
        result = self.client(*arguments, self.source + "/", self.daemon.url("to"))
        self.assertEqual(result.code, DONE, str(result))
        return result

    def test_attributes_of_what_may_not_be_written(self):
        names = {"small": 0o444, "large": 0o400, "program": 0o555, "directory": 0o555, "open": 0o644, ".": 0o555}
        os.mkdir(os.path.join(self.source, "directory"))
        for name, size in (("small", 10), ("large", 300_000), ("program", 70_000), ("open", 10)):
            self.random_file(name, size, "source")

        def describe(**changes):
            for name, mode in {**names, **changes}.items():
                path = os.path.join(self.source, name)
                os.setxattr(path, "user.about", f"{mode:o}".encode())
                os.chmod(path, mode)

        def described(**changes):
            for name, mode in {**names, **changes}.items():
                path = self.daemon.path(f"to/{name}")
                self.assertEqual((mode_of(path), os.getxattr(path, "user.about")), (mode, f"{mode:o}".encode()), name)

        describe()
        os.setxattr(os.path.join(self.source, "small"), "user.more", b"goes")
        self.moved("put", "--archive")
        described()
        changes = {"small": 0o644, "open": 0o444, "program": 0o511, "directory": 0o511}
        describe(**changes)
        os.removexattr(os.path.join(self.source, "small"), "user.more")
        result = self.moved("sync", "--archive")
        self.assertEqual(result.summary["files"], 0, str(result))
        described(**changes)
        self.assertEqual(os.listxattr(self.daemon.path("to/small")), ["user.about"])

    def test_attributes_that_root_alone_may_set_are_told(self):
        for name, size in (("small", 10), ("large", 300_000), ("plain", 10)):
            path = self.random_file(name, size, "source")
            os.chown(path, NOBODY, NOBODY)
            os.setxattr(path, "user.about", b"this")
        os.chown(self.source, NOBODY, NOBODY)
        for name in ("small", "large"):
            os.setxattr(os.path.join(self.source, name), "trusted.about", b"that")
        put = self.moved("put", "--archive")
        self.assertIn("2 did not get their owner, set-user-ID bits or an extended attribute", put.said())
        for name in ("small", "large", "plain"):
            self.assertEqual(os.listxattr(self.daemon.path(f"to/{name}")), ["user.about"])

    def test_no_program_runs_as_the_server(self):
        program = self.random_file("program", 70_000, "source")
        small = self.random_file("small", 10, "source")
        folder = self.folder("source/folder")
        for path, mode in ((program, 0o6755), (small, 0o2755), (folder, 0o2755)):
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, mode)
        os.chown(self.source, NOBODY, NOBODY)
        put = self.moved("put", "--archive")
        self.assertIn("2 did not get their owner, set-user-ID bits or an extended attribute", put.said())
        expected = {"program": 0o755, "small": 0o755, "folder": 0o2755}
        for name, mode in expected.items():
            self.assertEqual(mode_of(self.daemon.path(f"to/{name}")), mode, name)
        again = self.moved("sync", "--archive")
        self.assertEqual([e for e in again.events if e["event"] == "change"], [], str(again))
        # What an administrator put there loses them, as the source's other bits would.
        os.chmod(self.daemon.path("to/small"), 0o4755)
        self.moved("sync", "--archive")
        self.assertEqual(mode_of(self.daemon.path("to/small")), 0o755)
        # A range, whose mode waits for the whole.
        staged = ("put", "--archive", "--stage", "s", program, self.daemon.url("whole"))
        self.transfer(*staged, "--range", "0-")
        self.assertEqual(self.client(*staged[:1], *staged[2:], "--finish").code, DONE)
        self.assertEqual(mode_of(self.daemon.path("whole")), 0o755)

    def test_owners_that_a_container_does_not_know(self):
        container = ["unshare", "--user", "--map-root-user"]
        if subprocess.run([*container, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no user namespace is to be had")
        server = self.server()
        os.makedirs(server.path("tree/folder"))
        names = {"small": 10, "folder/large": 300_000}
        for name, size in names.items():
            self.file_with(server.path("tree/" + name), self.random.randbytes(size))
            os.chown(server.path("tree/" + name), NOBODY, NOBODY)
        os.chown(server.path("tree/folder"), 0, NOBODY)
        target = self.folder("target")
        process = Process([*container, os.path.join(Settings.bin_dir, "lambda-ftp"), "get", "--json", "--archive",
                           "--trust-new-host", "--password-file", self.client_password, server.url("tree/"), target],
                          env=self.environment)
        self.addCleanup(process.kill)
        process.wait(60)
        result = Result(process)
        self.assertEqual(result.code, DONE, str(result))
        self.assertIn("3 did not get their owner", result.said())
        for name in names:
            self.assert_same(server.path("tree/" + name), os.path.join(target, name))

    def test_the_root_of_an_account_keeps_its_mode(self):
        root = self.daemon.root
        os.chmod(root, 0o750)
        for mode in (0o000, 0o555, 0o777):
            self.random_file(f"small {mode}", 10, "source")
            self.random_file(f"large {mode}", 300_000, "source")
            os.chmod(self.source, mode)
            os.utime(self.source, ns=(mode, mode))
            for verb in ("put", "sync"):
                result = self.client(verb, "--archive", self.source + "/", self.daemon.url())
                self.assertEqual(result.code, DONE, str(result))
                status = os.stat(root)
                self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid, status.st_mtime_ns), (0o750, NOBODY, mode))
            self.assertEqual([event for event in result.events if event["event"] == "change"], [], str(result))
        # Nor is it opened for a moment where its administrator closed it.
        os.chmod(root, 0o555)
        self.random_file("more", 10, "source")
        result = self.client("put", self.source + "/", self.daemon.url())
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertEqual(mode_of(root), 0o555)

    def test_a_closed_directory_that_was_named(self):
        self.random_file("f", 10, "source")
        for verb in ("put", "sync"):
            with self.subTest(verb=verb):
                os.chmod(self.source, 0o555)
                self.moved(verb)
                self.assertEqual(mode_of(self.daemon.path("to")), 0o555)
                for name, size in ((f"small {verb}", 10), (f"large {verb}", 300_000), (f"{verb}/deep/below", 10)):
                    os.makedirs(os.path.dirname(os.path.join(self.source, name)), exist_ok=True)
                    self.random_file(name, size, "source")
                self.moved(verb)
                self.assertEqual(mode_of(self.daemon.path("to")), 0o555)
                # Only what lies deeper.
                self.random_file(f"{verb}/deep/more", 10, "source")
                self.moved(verb)
                self.assertEqual(mode_of(self.daemon.path("to")), 0o555)
                for where, _, files in os.walk(self.source):
                    for name in files:
                        path = os.path.join(where, name)
                        self.assert_same(path, self.daemon.path("to/" + os.path.relpath(path, self.source)))
