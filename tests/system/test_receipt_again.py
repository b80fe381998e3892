"""Receipts of transfers that were cut, and tried again."""

import os

from digests import tree_digest
from harness import CUT, DONE, FILE_FAILED, MIB, USER, Result, wait_for
from line import Line
from receipts import ReceiptCase, read


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


class ReceiptsAgain(ReceiptCase):
    SLOWLY = ("--rate-limit", "160Mbit/s")

    def again(self, server):
        return self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")

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
