"""lambda-ftp checksum beside md5sum, sha256sum and zlib, here and at a server."""

import os
import pty
import signal
import subprocess

from digests import DIGESTS
from disks import btrfs, damage
from harness import (CUT, DONE, FILE_FAILED, MIB, NO_SESSION, USAGE, Case, Result, Settings, need_program, open_files,
                     wait_for)


class Checksums(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def test_they_agree_with_others_here_and_there(self):
        contents = {}
        for name, size in (("empty", 0), ("small", 10), ("large", 5 * MIB + 7)):
            path = self.random_file(name, size, folder="root")
            with open(path, "rb") as file:
                contents[name] = file.read()
        local = [os.path.join(self.daemon.root, name) for name in contents]
        remote = [self.daemon.url(name) for name in contents]
        for algorithm, digest in DIGESTS.items():
            wanted = [digest(content) for content in contents.values()] * 2
            # Places of both kinds on one command, in the order in which they stand.
            result = self.client("checksum", "--algorithm", algorithm, *remote, *local)
            self.assertEqual(result.code, DONE, str(result))
            told = [event for event in result.events if event["event"] == "checksum"]
            self.assertEqual([event["digest"] for event in told], wanted)
            self.assertEqual([event["path"] for event in told], remote + local)
            self.assertEqual({event["algorithm"] for event in told}, {algorithm})
        plain = self.client("checksum", *remote, *local, json=False)
        digests = [line.split("  ")[0] for line in plain.stdout.splitlines()]
        self.assertEqual(digests[:3], digests[3:])
        self.assertEqual({len(digest) for digest in digests}, {32})

    def test_a_pattern_is_what_get_of_it_takes(self):
        folder = self.folder("root/dir")
        for name in ("b 2.bin", "a%1.bin", "c.txt", ".d.bin", "*.odd"):
            self.random_file(name, 1000, folder=folder)
        url = self.daemon.url("dir/")
        result = self.client("checksum", "--algorithm", "md5", url + "*.bin", url + "c.txt", url + "no*")
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual([event["path"] for event in result.events if event["event"] == "checksum"],
                         [self.daemon.url("dir/" + name) for name in ("a%1.bin", "b 2.bin", "c.txt")])
        self.assertEqual([event["path"] for event in result.errors], ["/dir/no*"])
        # What stands under a name with wildcards is meant by it.
        odd = self.client("checksum", url + "*.odd", json=False)
        self.assertEqual(odd.code, DONE, str(odd))
        self.assertEqual(odd.stdout.count("\n"), 1)

    def test_sha256sum_checks_our_lines(self):
        folder = self.folder("local")
        names = ["plain", "with blank", "line\nend", "back\\slash", "-dash"]
        for name in names:
            self.random_file(name, 1000)
        for algorithm, program in (("md5", "md5sum"), ("sha256", "sha256sum")):
            ours = self.client("checksum", "--algorithm", algorithm, "--", *names, json=False, cwd=folder)
            self.assertEqual(ours.code, DONE, str(ours))
            checked = subprocess.run([need_program(program), "--strict", "--check", "-"], cwd=folder,
                                     input=ours.stdout.encode(), capture_output=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertEqual(checked.stdout.count(b": OK"), len(names))

    def test_no_name_speaks_to_the_terminal(self):
        name = "a\x1b]0;title\x07"
        self.random_file(name, 1000)
        command = [os.path.join(Settings.bin_dir, "lambda-ftp"), "checksum", name]
        end, terminal = pty.openpty()
        self.addCleanup(os.close, end)
        subprocess.run(command, cwd=self.folder("local"), stdout=terminal, env=self.environment, check=True)
        os.close(terminal)
        shown = os.read(end, 1 << 16)
        self.assertTrue(shown.endswith(b"  a\\x1b]0;title\\x07\r\n"), shown)
        piped = subprocess.run(command, cwd=self.folder("local"), capture_output=True, env=self.environment, check=True)
        self.assertTrue(piped.stdout.endswith(os.fsencode("  " + name + "\n")), piped.stdout)

    def test_one_that_fails_does_not_stop_the_others(self):
        self.random_file("there", 100, folder="root")
        result = self.client("checksum", self.daemon.url("missing"), self.daemon.url("there"),
                             os.path.join(self.daemon.root, "missing"), os.path.join(self.daemon.root, "there"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(len(result.errors), 2)
        self.assertEqual(len([event for event in result.events if event["event"] == "checksum"]), 2)
        self.assert_failed(self.client("checksum", "--algorithm", "sha1", self.daemon.url("there")), USAGE)
        self.assert_failed(self.client("checksum", self.daemon.root), FILE_FAILED)

    def test_an_unreadable_file_has_none(self):
        image = btrfs(self)
        path = os.path.join(image.folder, "broken")
        with open(path, "wb") as file:
            file.write(self.random.randbytes(6 * MIB))
        with open(path, "rb") as file:
            damage_at = os.pread(file.fileno(), 4096, 3 * MIB)
        damage(image, damage_at)
        server = self.server(root=image.folder)
        for algorithm in ("xxh3-128", "adler32", "sha256"):
            result = self.client("checksum", "--algorithm", algorithm, server.url("broken"), path)
            self.assert_failed(result, FILE_FAILED)
            self.assertEqual(len(result.errors), 2, str(result))
            self.assertEqual(len(result.events), 3, str(result))

    def test_it_can_be_interrupted(self):
        huge = os.path.join(self.daemon.root, "huge")
        with open(huge, "wb") as file:
            file.truncate(1 << 42)
        for places, codes in (([huge] * 3, [CUT]), ([self.daemon.url("huge")], [CUT, NO_SESSION])):
            client = self.start("checksum", "--algorithm", "sha256", *places)
            pid = client.pid if huge in places else self.daemon.pid
            wait_for(lambda: huge in open_files(pid), "the reading of the file", alive=client.running)
            client.signal(signal.SIGINT)
            self.assertIn(client.wait(), codes, client.stderr)
            self.assertEqual(len(Result(client).errors), 1, client.stdout)
        wait_for(lambda: huge not in open_files(self.daemon.pid), "the end of the server's reading")
        self.assert_serving(self.daemon)
