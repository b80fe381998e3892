"""Audits: what is found of a replica by a receipt, and which receipts are believed."""

import os
import shutil
import signal

from harness import CUT, FILE_FAILED, GIB, INTEGRITY, MIB, USAGE, Result, open_files, wait_for
from receipts import ReceiptCase, read


class Audits(ReceiptCase):
    def test_an_audit_of_what_is_here_can_be_interrupted(self):
        source = self.file_with(os.path.join(self.folder("local"), "holes"), b"")
        os.truncate(source, 15 * 1024 * GIB)
        self.transfer("put", "--receipt", self.receipt, source, self.daemon.url("holes"))
        client = self.start("audit", self.receipt, "--at", self.daemon.path("holes"))
        wait_for(lambda: os.fsdecode(self.daemon.path("holes")) in open_files(client.pid), "the reading", alive=client.running)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        self.assertEqual(len(Result(client).errors), 1, client.stdout)

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

    def test_a_directory_is_no_receipt(self):
        result = self.client("audit", self.scratch)
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("Is a directory", result.said())
