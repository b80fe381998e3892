"""Receipts: what a server signs of a transfer, and where it is put."""

import base64
import hashlib
import json
import os
import stat
import subprocess
import threading

from digests import tree_digest
from harness import DONE, FILE_FAILED, INTEGRITY, PATIENCE_S, USAGE, need_program
from receipts import ReceiptCase, read


def twins():
    """Two contents of one XXH3-128: words whose low halves are its secret's add nothing but themselves."""
    one = bytearray(4096)
    one[0:4], one[64:68] = bytes.fromhex("b8fe6c39"), bytes.fromhex("7c01812c")
    other = bytearray(one)
    one[4] = other[68] = 1
    return bytes(one), bytes(other)


class Receipts(ReceiptCase):
    def test_a_put_of_a_tree_is_told_file_by_file_and_signed(self):
        top = self.tree()
        self.transfer("put", "--receipt", self.receipt, "--digest", "sha256", top, self.daemon.url("in/"), files=4)
        files = self.files()
        self.assertEqual(len(files), 4)
        for name, line in files.items():
            path = os.path.join(os.path.dirname(top), os.fsdecode(os.fsencode(name)))
            content = read(path)
            self.assertEqual(line["size"], len(content))
            self.assertEqual(line["sha256-tree-1MiB"], tree_digest(content))
            self.assertNotIn("adopted", line)
            for algorithm in ("xxh3-128", "sha256-tree-1MiB"):
                told = self.client("checksum", "--algorithm", algorithm, "--", path)
                self.assertEqual(told.events[0]["digest"], line[algorithm])
        statement = self.lines()[-2]
        self.assertEqual((statement["direction"], statement["place"], statement["into"], statement["files"]),
                         ("put", "/in/", "directory", 4))
        self.assert_good(self.audit(), 4)
        self.assert_good(self.audit("--at", os.path.dirname(top)), 4)
        self.assert_good(self.audit("--at", self.daemon.path("in")), 4)
        self.assertEqual([name for name in os.listdir(self.scratch) if name.startswith("receipt.json.")], [])

    def test_openssl_alone_can_check_it(self):
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("file"))
        lines = read(self.receipt).splitlines(keepends=True)
        self.assertEqual(json.loads(lines[-2])["sha256_of_lines"], hashlib.sha256(b"".join(lines[:-2])).hexdigest())
        seal = json.loads(lines[-1])
        message = self.file_with(os.path.join(self.scratch, "message"), b"lambda-ftp receipt 1: " + lines[-2])
        key = self.file_with(os.path.join(self.scratch, "key"), base64.b64decode(seal["public_key"]))
        signature = self.file_with(os.path.join(self.scratch, "signature"), base64.b64decode(seal["signature"]))
        checked = subprocess.run([need_program("openssl"), "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey",
                                  key, "-rawin", "-in", message, "-sigfile", signature], capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_keys_of_other_kinds_sign_too(self):
        for kind in (["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]):
            state = self.folder(kind[0][:2])
            server = self.server(settings=self.certificate(state, *kind), state=state)
            source = self.random_file("file", 1000)
            self.transfer("put", "--receipt", self.receipt, source, server.url("file"))
            self.assert_good(self.audit(), 1)

    def test_get_and_what_it_becomes(self):
        self.tree(folder="root")
        back = self.folder("back")
        self.transfer("get", "--receipt", self.receipt, self.daemon.url("tree"), back, files=4)
        self.assert_good(self.audit(), 4)
        self.transfer("get", "--receipt", self.receipt, self.daemon.url("tree"), os.path.join(self.scratch, "new"),
                      files=4)
        self.assertEqual(self.lines()[1], {"wanted": "/tree"})
        self.assert_good(self.audit(), 4)
        self.transfer("get", "--receipt", self.receipt, self.daemon.url("tree/small"), "renamed", cwd=back)
        self.assert_good(self.audit(), 1)
        os.rename(os.path.join(back, "renamed"), os.path.join(back, "again"))
        self.assert_failed(self.audit(), FILE_FAILED)
        self.assert_good(self.audit("--at", os.path.join(back, "again")), 1)
        self.assert_good(self.audit("--at", self.daemon.url("tree/small")), 1)

    def test_sync_tells_what_it_adopted_and_who_read_it(self):
        top = self.tree()
        self.transfer("sync", top, self.daemon.url("copy"), files=4)
        self.random_file("tree/fresh", 500)
        result = self.client("sync", "--receipt", self.receipt, top, self.daemon.url("copy"))
        self.assertEqual(result.code, DONE, str(result))
        files = self.files()
        self.assertEqual(len(files), 5)
        self.assertEqual({name for name, line in files.items() if line.get("adopted")}, set(files) - {"fresh"})
        self.assertNotIn("xxh3-128", files["small"])
        audited = self.audit()
        self.assertEqual(audited.code, DONE, str(audited))
        self.assertEqual((self.found(audited)["good"], self.found(audited)["of_size_alone"]), (1, 4))
        self.assertEqual(self.client("sync", "--checksum", "--receipt", self.receipt, top,
                                     self.daemon.url("copy")).code, DONE)
        self.assertTrue(all("xxh3-128" in line and line["adopted"] for line in self.files().values()))
        self.assertFalse([line for line in self.files().values() if "sha256-tree-1MiB" in line])
        self.assert_good(self.audit(), 5)

    def test_what_is_adopted_by_sha256_is_told_and_audited_by_it(self):
        top, back = self.tree(), self.folder("back")
        self.transfer("put", top, self.daemon.url("copy"), files=4)
        self.transfer("get", self.daemon.url("copy"), back, files=4)
        back = os.path.join(back, "copy")
        for verb, *places, replica in (("sync", top, self.daemon.url("copy"), self.daemon.path("copy")),
                                       ("get", self.daemon.url("copy/"), back, back),
                                       ("put", top + "/", self.daemon.url("copy"), self.daemon.path("copy"))):
            result = self.client(verb, "--digest", "sha256", "--receipt", self.receipt, *places)
            self.assertEqual(result.code, DONE, str(result))
            self.assertEqual((result.summary["adopted"], result.summary["files"]), (4, 0), str(result))
            files = self.files()
            self.assertEqual(len(files), 4)
            for name, line in files.items():
                path = os.path.join(os.fsencode(top), os.fsencode(name))
                self.assertTrue(line["adopted"])
                self.assertEqual(line["sha256-tree-1MiB"], tree_digest(read(path)))
                for algorithm in ("xxh3-128", "sha256-tree-1MiB"):
                    told = self.client("checksum", "--algorithm", algorithm, "--", path)
                    self.assertEqual(told.events[0]["digest"], line[algorithm])
            self.assert_good(self.audit(), 4)
            large = os.path.join(os.fsencode(replica), b"sub/large")
            times = os.stat(large)
            with open(large, "r+b") as file:
                byte = file.read(1)[0]
                file.seek(0)
                file.write(bytes([byte ^ 1]))
            os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
            for at in ((), ("--at", replica)):
                result = self.audit(*at)
                self.assert_failed(result, INTEGRITY)
                self.assertIn("sha256-tree-1MiB differs", result.errors[0]["message"])
                self.assertEqual((self.found(result)["good"], self.found(result)["different"]), (3, 1))
            # Size and time are as they were: by SHA-256 it is found all the same.
            result = self.client("sync", "--digest", "sha256", top, self.daemon.url("copy"))
            self.assertEqual((result.code, result.summary["files"]), (DONE, 0 if verb == "get" else 1), str(result))

    def test_a_forged_file_of_the_same_xxh3_is_not_adopted(self):
        one, other = twins()
        top = self.folder("forged")
        source = self.file_with(os.path.join(top, "file"), one)
        self.transfer("put", top, self.daemon.url("copy"))
        replica = self.daemon.path("copy/file")
        digests = {}

        def forge():
            times = os.stat(replica)
            self.file_with(replica, other)
            os.utime(replica, ns=(times.st_atime_ns, times.st_mtime_ns))

        forge()
        for path in (source, replica):
            for algorithm in ("xxh3-128", "sha256-tree-1MiB"):
                told = self.client("checksum", "--algorithm", algorithm, "--", path)
                digests.setdefault(algorithm, set()).add(told.events[0]["digest"])
        self.assertEqual((len(digests["xxh3-128"]), len(digests["sha256-tree-1MiB"])), (1, 2))
        for options, moved in ((["--checksum"], 0), (["--digest", "sha256"], 1), (["--digest", "sha256"], 0)):
            result = self.client("sync", *options, "--receipt", self.receipt, top, self.daemon.url("copy"))
            self.assertEqual(result.code, DONE, str(result))
            self.assertEqual((result.summary["files"], result.summary["adopted"]), (moved, 1 - moved), str(result))
            if "--checksum" in options:
                self.assert_good(self.audit(), 1)  # XXH3 is no more than that
        self.assert_same(source, replica)
        self.assert_good(self.audit(), 1)
        forge()
        self.assert_failed(self.audit(), INTEGRITY)

    def test_what_fails_has_no_line(self):
        top = self.tree()
        os.makedirs(self.daemon.path("in/tree/small"))  # in its way
        result = self.client("put", "--receipt", self.receipt, top, self.daemon.url("in/"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(len(self.files()), 3)
        self.assertNotIn("tree/small", self.files())
        self.assert_good(self.audit(), 3)

    def test_what_makes_no_sense_is_usage(self):
        source = self.random_file("file", 10)
        for wrong in (["sync", "--dry-run", "--receipt", self.receipt, source, self.daemon.url("file")],
                      ["ls", "--receipt", self.receipt, self.daemon.url()],
                      ["put", "--digest", "md5", source, self.daemon.url("file")],
                      ["sync", "--digest", "sha256", self.daemon.url("a"), self.daemon.url("b")],
                      ["put", "--receipt", self.receipt, "--range", "0-", "--stage", "s", source,
                       self.daemon.url("file")],
                      ["audit"], ["put", "--at", source, source, self.daemon.url("file")],
                      ["audit", "--signer", "SHA256:short", source], ["ls", "--any-signer", self.daemon.url()],
                      ["audit", "--any-signer", "--signer", "SHA256:" + "a" * 43, source],
                      ["audit", "--at", "", source], ["put", "--receipt", "", source, self.daemon.url("file")],
                      ["put", "--receipt", source, source, self.daemon.url("file")],
                      ["get", "--receipt", source, self.daemon.url("x"), source]):
            self.assert_failed(self.client(*wrong), USAGE)
        self.assertFalse(os.path.exists(self.receipt))
        self.assertEqual(os.path.getsize(source), 10)

    def test_a_receipt_within_the_tree_that_it_tells_of(self):
        top = self.tree()
        receipts = [os.path.join(top, name) for name in ("first", "second")]
        self.transfer("sync", "--receipt", receipts[0], top, self.daemon.url("to"), files=4)
        self.assertEqual(sorted(os.listdir(self.daemon.path("to"))), [b"empty", b"small", b"sub"])
        told = self.client("sync", "--checksum", "--receipt", receipts[1], top, self.daemon.url("to"))
        self.assertEqual([event["path"] for event in told.events if event.get("change") == "create"], ["first"])
        self.assert_good(self.audit("--at", self.daemon.path("to"), receipt=receipts[1]), 5)
        before = read(receipts[0])
        self.assertEqual(self.client("sync", "--receipt", receipts[0], top, self.daemon.url("to")).code, DONE)
        self.assertNotEqual(read(receipts[0]), before)
        # Any other file of the tree stays what it is.
        small = os.path.join(top, "small")
        before = read(small)
        self.assert_failed(self.client("sync", "--receipt", small, top, self.daemon.url("to")), USAGE)
        self.assertEqual(read(small), before)
        self.assertEqual(self.client("sync", "--exclude", "small", "--receipt", small, top,
                                     self.daemon.url("to")).code, DONE)

    def test_a_place_that_takes_none_stops_it_before_anything_moves(self):
        source = self.random_file("file", 10)
        result = self.client("put", "--receipt", os.path.join(self.scratch, "nowhere/receipt"), source,
                             self.daemon.url("file"))
        self.assert_failed(result, FILE_FAILED)
        self.assertFalse(os.path.exists(self.daemon.path("file")))

    def test_what_is_no_file_takes_it_and_stays(self):
        source = self.random_file("file", 10)
        real = self.file_with(os.path.join(self.scratch, "real"), b"old")
        os.symlink("real", os.path.join(self.scratch, "link"))
        self.transfer("put", "--receipt", os.path.join(self.scratch, "link"), source, self.daemon.url("a"))
        self.assertTrue(os.path.islink(os.path.join(self.scratch, "link")))
        with open(real, "rb") as file:
            self.assertIn(b'"signature"', file.read())
        pipe = os.path.join(self.scratch, "pipe")
        os.mkfifo(pipe)
        came = []

        def read():
            with open(pipe, "rb") as file:
                came.append(file.read())
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.transfer("put", "--receipt", pipe, source, self.daemon.url("b"))
        reader.join(PATIENCE_S)
        self.assertIn(b'"signature"', came[0])
        self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
        full = self.client("put", "--receipt", "/dev/full", source, self.daemon.url("c"))
        self.assert_failed(full, FILE_FAILED)
        self.assertTrue(stat.S_ISCHR(os.lstat("/dev/full").st_mode))
