"""Receipts: what a server signs of a transfer, and what an audit of a replica finds by them."""

import base64
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import threading

from digests import tree_digest
from harness import (CUT, DONE, FILE_FAILED, GIB, INTEGRITY, MIB, PATIENCE_S, USAGE, USER, Case, Result, need_program,
                     open_files, wait_for)
from line import Line


def read(path):
    with open(path, "rb") as file:
        return file.read()


def twins():
    """Two contents of one XXH3-128: words whose low halves are its secret's add nothing but themselves."""
    one = bytearray(4096)
    one[0:4], one[64:68] = bytes.fromhex("b8fe6c39"), bytes.fromhex("7c01812c")
    other = bytearray(one)
    one[4] = other[68] = 1
    return bytes(one), bytes(other)


class Closing(Line):
    """Its first connection, which is the session's, ends when the client says something and `over` is true."""

    def __init__(self, case, server, over):
        self.over = over
        super().__init__(case, server)

    def _pump(self, one, other):
        if one is not self.sockets[0]:
            return super()._pump(one, other)
        try:
            while (piece := one.recv(65536)) and not self.over():
                other.sendall(piece)
        except OSError:
            pass
        for end in (one, other):
            end.close()


class Receipts(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()
        self.receipt = os.path.join(self.scratch, "receipt.json")

    def tree(self, name="tree", folder="local"):
        top = os.path.join(self.folder(folder), name)
        os.makedirs(os.path.join(top, "sub"))
        for path, size in (("empty", 0), ("small", 1000), ("sub/large", 3 * MIB + 5), ("sub/odd \xff\"\t\udcff", 70_000)):
            self.random_file(os.path.join(name, path), size, folder=folder)
        return top

    def lines(self, receipt=None):
        with open(receipt or self.receipt) as file:
            return [json.loads(line) for line in file]

    def files(self, receipt=None):
        return {line["path"]: line for line in self.lines(receipt) if "path" in line}

    def audit(self, *arguments, receipt=None, **how):
        return self.client("audit", receipt or self.receipt, *arguments, **how)

    def found(self, result):
        return next(event for event in result.events if event["event"] == "audit")

    def assert_good(self, result, files):
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(self.found(result)["good"], files, str(result))

    def test_an_audit_of_what_is_here_can_be_interrupted(self):
        source = self.file_with(os.path.join(self.folder("local"), "holes"), b"")
        os.truncate(source, 15 * 1024 * GIB)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("holes"))
        client = self.start("audit", self.receipt, "--at", self.daemon.path("holes"))
        wait_for(lambda: os.fsdecode(self.daemon.path("holes")) in open_files(client.pid), "the reading", alive=client.running)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        self.assertEqual(len(Result(client).errors), 1, client.stdout)

    # What is in one

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

    def test_what_an_earlier_try_did_has_its_sha256_too(self):
        top = self.tree()
        self.random_file("tree/zz", 30 * MIB)
        client = self.start("put", *self.SLOWLY, "--retry-for", "1min", "--receipt", self.receipt,
                            "--digest", "sha256", top, self.daemon.url("in/"))
        self.wait_for_part(self.daemon.path("in/tree"), client, 8 * MIB)
        wait_for(lambda: os.path.exists(self.daemon.path("in/tree/small")), "the small file", alive=client.running)
        self.daemon.kill()
        self.daemon = self.again(self.daemon)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        files = self.files()
        self.assertEqual(len(files), 5)
        self.assertTrue(files["tree/small"]["adopted"])
        for name, line in files.items():
            path = os.path.join(os.fsencode(os.path.dirname(top)), os.fsencode(name))
            self.assertEqual(line["sha256-tree-1MiB"], tree_digest(read(path)))
        self.assert_good(self.audit(), 5)

    def test_what_fails_has_no_line(self):
        top = self.tree()
        os.makedirs(self.daemon.path("in/tree/small"))  # in its way
        result = self.client("put", "--receipt", self.receipt, top, self.daemon.url("in/"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(len(self.files()), 3)
        self.assertNotIn("tree/small", self.files())
        self.assert_good(self.audit(), 3)

    # What an audit finds

    def test_what_is_wrong_with_a_replica_is_named(self):
        top = self.tree()
        self.transfer("put", "--receipt", self.receipt, top, self.daemon.url("tree"), files=4)
        replica = self.daemon.path("tree")
        large = os.path.join(replica, b"sub/large")
        times = os.stat(large)
        with open(large, "r+b") as file:
            file.seek(2 * MIB)
            byte = file.read(1)[0]
            file.seek(2 * MIB)
            file.write(bytes([byte ^ 1]))
        os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
        for places in ((), ("--at", replica)):
            result = self.audit(*places)
            self.assert_failed(result, INTEGRITY)
            self.assertEqual([os.path.basename(error["path"]) for error in result.errors], ["large"])
            self.assertIn("content", result.errors[0]["message"])
        os.unlink(large)
        with open(os.path.join(replica, b"small"), "ab") as file:
            file.write(b"more")
        for places in ((), ("--at", replica)):
            result = self.audit(*places)
            self.assert_failed(result, INTEGRITY)
            told = {os.path.basename(error["path"]): error for error in result.errors}
            self.assertEqual(set(told), {"large", "small"}, str(result))
            self.assertEqual((told["large"]["code"], told["small"]["code"]), ("file", "integrity"))
            self.assertEqual(self.found(result)["missing"], 1, str(result))
            self.assertIn("1004 bytes", told["small"]["message"])
            self.assertEqual(self.found(result)["good"], 2)
        os.mkdir(large)
        os.unlink(os.path.join(replica, b"small"))
        os.symlink("nothing", os.path.join(replica, b"small"))
        for places in ((), ("--at", replica)):
            result = self.audit(*places)
            self.assert_failed(result, INTEGRITY)
            told = {os.path.basename(error["path"]): error for error in result.errors}
            self.assertIn("no regular file", told["large"]["message"])
            self.assertIn("is missing", told["small"]["message"])
        shutil.rmtree(replica)
        for places in ((), ("--at", replica)):
            result = self.audit(*places)
            self.assert_failed(result, FILE_FAILED)
            self.assertEqual(self.found(result)["missing"], 4, str(result))

    def test_a_name_that_fits_no_command_is_that_file_alone(self):
        below = "/".join(["n" * 200] * 15)
        os.makedirs(os.path.join(self.scratch, "local/tree", below))
        self.random_file(f"tree/{below}/first", 10)
        self.random_file("tree/second", 10)
        self.transfer("put", "--receipt", self.receipt, os.path.join(self.scratch, "local/tree"),
                      self.daemon.url("tree"), files=2)
        # SIZE is a line for it, CKSM is none.
        longest = 4096 - len("SIZE \r\n")
        folder = ("x" * 200 + "/") * 6
        folder = folder[:longest - len(f"/{below}/first") - 1]
        result = self.audit("--at", self.daemon.url(folder))
        self.assert_failed(result, FILE_FAILED)
        found = self.found(result)
        self.assertEqual((found["unread"], found["missing"]), (1, 1), str(result))

    def test_one_file_in_a_directory_that_is_named(self):
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("renamed"))
        os.mkdir(self.daemon.path("in"))
        folder = os.path.dirname(os.fsdecode(source))
        for place in (self.daemon.url("renamed"), folder, folder + "/", source):
            self.assert_good(self.audit("--at", place), 1)
        for place in ("in", "in/"):
            result = self.audit("--at", self.daemon.url(place))
            self.assert_failed(result, FILE_FAILED)
            self.assertEqual(self.found(result)["missing"], 1, str(result))
        shutil.copy(source, self.daemon.path("in"))
        for place in ("in", "in/"):
            self.assert_good(self.audit("--at", self.daemon.url(place)), 1)

    # What is refused

    def test_a_receipt_that_was_touched_is_refused(self):
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("file"))
        whole = read(self.receipt)
        changed = {"size": whole.replace(b'"size":1000', b'"size":1001'),
                   "signature": whole[:-20] + (b"A" if whole[-20:-19] != b"A" else b"B") + whole[-19:],
                   "cut": whole[:whole.rindex(b'{"signature')],
                   "doubled": whole + whole}
        for about, content in changed.items():
            with self.subTest(about):
                self.file_with(self.receipt, content)
                self.assert_failed(self.audit(), INTEGRITY)
        self.file_with(self.receipt, b"no receipt\n")
        self.assert_failed(self.audit(), USAGE)
        self.assert_failed(self.audit(receipt=self.receipt + ".none"), FILE_FAILED)

    def test_another_key_than_the_known_one_is_refused(self):
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("file"))
        known_hosts = os.path.join(self.home, ".config/lambda-ftp/known_hosts")
        others = self.server(root=self.folder("other root"), state=self.folder("other state"))
        self.transfer("put", source, others.url("file"))  # its key becomes known
        lines = read(known_hosts).decode().splitlines()
        keys = {line.split()[0]: line.split()[1] for line in lines}
        here, there = f"[{self.daemon.host}]:{self.daemon.port}", f"[{others.host}]:{others.port}"
        self.file_with(known_hosts, f"{here} {keys[there]}\n".encode())
        result = self.audit("--at", source)
        self.assert_failed(result, INTEGRITY)
        self.assertIn(keys[here], result.said())
        signer = ("--at", source, "--signer", keys[here])
        self.assert_good(self.audit(*signer), 1)  # an old key of the server
        self.file_with(known_hosts, b"")  # not known: whose key it is, is said
        result = self.audit("--at", source)
        self.assert_failed(result, INTEGRITY)
        self.assertIn(keys[here], result.said())
        result = self.audit()  # though new hosts are trusted
        self.assert_failed(result, INTEGRITY)
        self.assertIn("name it by --at", result.said())
        self.assertEqual(read(known_hosts), b"")
        for known, arguments in (("given", signer), ("unknown", ("--at", source, "--any-signer")),
                                 # The server shows it; by the receipt's word alone it is not dialled.
                                 ("known", ("--at", self.daemon.url("file"))), ("known", ("--at", source))):
            result = self.audit(*arguments)
            self.assert_good(result, 1)
            self.assertEqual((self.found(result)["signer"], self.found(result)["key"]), (known, keys[here]))
        self.assert_failed(self.audit("--at", source, "--signer", keys[there]), INTEGRITY)

    def test_a_receipt_by_the_key_of_another_is_refused_where_the_server_shows_its_own(self):
        """Whoever got into the archive writes there, and a receipt for it by a key of his own."""
        forger = self.server(root=self.daemon.root, state=self.folder("another state"))
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, source, forger.url("file"))
        forger.kill()
        state = self.folder("honest state")
        own = self.certificate(state, "ed25519")
        honest = self.server(root=forger.root, state=state, settings=own, listen=f"{forger.host}:{forger.port}")
        os.unlink(os.path.join(self.home, ".config/lambda-ftp/known_hosts"))
        authority = ("--ca", own["certificate"])
        there = ("--at", honest.url("file"), *authority)
        for arguments in (there, ("--any-signer", *there), there[:2]):
            result = self.audit(*arguments)
            self.assert_failed(result, INTEGRITY)
            self.assertIn("another key", result.said())
        self.transfer("put", "--receipt", self.receipt, *authority, source, honest.url("file"))
        result = self.audit(*there)
        self.assert_good(result, 1)
        self.assertEqual(self.found(result)["signer"], "known")

    def test_a_server_that_a_receipt_alone_names_sees_no_password(self):
        state = self.folder("certified state")
        own = self.certificate(state, "ed25519")
        self.daemon = self.server(root=self.folder("certified root"), state=state, settings=own)
        authority = ("--ca", own["certificate"])
        source = self.random_file("file", 1000)
        self.transfer("put", "--receipt", self.receipt, *authority, source, self.daemon.url("file"))
        self.daemon.kill()  # nobody asks for it
        for arguments in (authority, ("--any-signer", *authority), (), ("--any-signer",)):  # new hosts are trusted
            result = self.audit(*arguments)
            self.assert_failed(result, INTEGRITY)
            self.assertIn("name it by --at", result.said())

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

    def test_a_directory_is_no_receipt(self):
        result = self.client("audit", self.scratch)
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("Is a directory", result.said())

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

    # Cuts

    SLOWLY = ("--rate-limit", "160Mbit/s")

    def again(self, server):
        return self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")

    def test_after_a_cut_the_next_run_tells_all(self):
        source = self.random_file("file", 30 * MIB)
        client = self.start("put", *self.SLOWLY, "--receipt", self.receipt, source, self.daemon.url("file"))
        self.wait_for_part(self.daemon.root, client, 8 * MIB)
        self.daemon.kill()
        self.assertEqual(client.wait(), CUT, client.stdout + client.stderr)
        self.assertFalse(os.path.exists(self.receipt))
        self.assertIn("no receipt", client.stderr)
        self.daemon = self.again(self.daemon)
        self.transfer("put", "--receipt", self.receipt, "--digest", "sha256", source, self.daemon.url("file"))
        self.assertEqual(self.files()["file"]["sha256-tree-1MiB"], tree_digest(read(source)))
        self.assert_good(self.audit(), 1)

    def test_a_lost_session_within_a_run_leaves_a_whole_receipt(self):
        sources = [self.random_file("small", 1000), self.random_file("file", 30 * MIB),
                   self.random_file("rotten", 2 * MIB)]
        os.makedirs(self.daemon.path("into"))
        rotten = self.random_file("into/rotten", 2 * MIB, folder="root")  # as old as its source, and as large
        times = os.stat(sources[2])
        os.utime(rotten, ns=(times.st_atime_ns, times.st_mtime_ns))
        client = self.start("put", *self.SLOWLY, "--retry-for", "1min", "--receipt", self.receipt, *sources,
                            self.daemon.url("into/"))
        wait_for(lambda: os.path.exists(self.daemon.path("into/small")), "the small file", alive=client.running)
        self.wait_for_part(self.daemon.path("into"), client, 4 * MIB)
        self.daemon.kill()
        self.daemon = self.again(self.daemon)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        self.assertFalse([event for event in Result(client).events if event["event"] == "change"])
        files = self.files()
        self.assertEqual(set(files), {"small", "file", "rotten"})
        self.assertTrue(files["small"]["adopted"])
        self.assertIn("xxh3-128", files["file"])
        self.assertIn("xxh3-128", files["rotten"])
        self.assert_same(sources[2], rotten)
        self.assertEqual(self.audit().code, DONE)

    def test_a_get_that_is_tried_again_leaves_a_whole_receipt(self):
        sources = [self.random_file(name, size, folder="root")
                   for name, size in (("small", 1000), ("file", 30 * MIB), ("rotten", 2 * MIB))]
        back = self.folder("back")
        rotten = self.random_file("rotten", 2 * MIB, folder="back")
        times = os.stat(sources[2])
        os.utime(rotten, ns=(times.st_atime_ns, times.st_mtime_ns))
        client = self.start("get", *self.SLOWLY, "--retry-for", "1min", "--receipt", self.receipt,
                            *(self.daemon.url(os.path.basename(source)) for source in sources), back)
        wait_for(lambda: os.path.exists(os.path.join(back, "small")), "the small file", alive=client.running)
        self.wait_for_part(back, client, 4 * MIB)
        self.daemon.kill()
        self.daemon = self.again(self.daemon)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        files = self.files()
        self.assertEqual({name for name, line in files.items() if line.get("adopted")}, {"small"})
        self.assertEqual(set(files), {"small", "file", "rotten"})
        self.assert_same(sources[2], rotten)
        self.assertEqual(self.audit().code, DONE)

    def test_a_session_that_is_lost_before_the_server_signed(self):
        for retried in (False, True):
            name = f"file{retried}"
            source = self.random_file(name, 100_000)
            line = Closing(self, self.daemon, lambda landed=self.daemon.path(name): os.path.exists(landed))
            result = self.client("put", "--receipt", self.receipt, *(("--retry-for", "1min") if retried else ()), source,
                                 f"lambda://{USER}@127.0.0.1:{line.port}/{name}")
            self.assertEqual(os.path.exists(self.receipt), retried, str(result))
            if retried:
                self.assertEqual(result.code, DONE, str(result))
                self.assertTrue(self.files()[name]["adopted"])
                self.assertIn("trying again", result.stderr)
            else:
                self.assert_failed(result, CUT)
                self.assertIn("no receipt was written", result.stderr)
            self.assert_same(source, self.daemon.path(name))

    def test_what_is_in_the_way_outlives_a_try_and_is_told_once(self):
        for goes in (False, True):
            name = f"tree{goes}"
            top = os.path.join(self.folder("local"), name)
            os.makedirs(os.path.join(top, "data"))
            self.random_file(os.path.join(name, "data/file"), 1000)
            self.random_file(os.path.join(name, "large"), 30 * MIB)
            link = self.daemon.path(f"in/{name}/data")
            os.makedirs(os.path.dirname(link))
            os.symlink("elsewhere", link)
            client = self.start("put", *self.SLOWLY, "--retry-for", "1min", "--receipt", self.receipt, top,
                                self.daemon.url("in/"))
            self.wait_for_part(self.daemon.path("in"), client, 4 * MIB)
            self.daemon.kill()
            if goes:
                os.unlink(link)
            self.daemon = self.again(self.daemon)
            self.assertEqual(client.wait(), DONE if goes else FILE_FAILED, client.stdout + client.stderr)
            errors = [error["path"] for error in Result(client).errors]
            if goes:
                self.assertEqual(errors, [])
                self.assertEqual(set(self.files()), {f"{name}/data/file", f"{name}/large"})
            else:
                self.assertEqual(len(set(errors)), len(errors), client.stdout)
                self.assertEqual(os.readlink(link), b"elsewhere")
                self.assertEqual(set(self.files()), {f"{name}/large"})
