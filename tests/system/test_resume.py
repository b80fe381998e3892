"""Transfers that are killed at random moments and run again."""

import contextlib
import fcntl
import os
import sys
import time
import unittest

from harness import CUT, DONE, GIB, KIB, MIB, Case, Result, Settings, support_program, wait_for
from journals import durable, durable_bytes, journals_below, until_durable
from network import UdpCounter


class Resume(Case):
    SLOWLY = ("--rate-limit", "160Mbit/s")  # 20 MB/s

    def again(self, server):
        return self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")

    def cut_half_way(self, server, source, folder=None, how=(), get=False):
        """Kills the client once half of a file is durable. Returns what was then."""
        half = os.path.getsize(source) // 2
        folder = folder or server.root
        arguments = ("get", *how, server.url(os.path.basename(source)), folder) if get else \
            ("put", *how, source, server.url(os.path.basename(source)))
        client = self.start(*arguments)
        until_durable(folder, client, half)
        client.kill()
        return durable_bytes(folder)

    def test_what_was_durable_does_not_move_again(self):
        server = self.server()
        source = self.random_file("file", 40 * MIB + 1234)
        before = self.cut_half_way(server, source, how=self.SLOWLY)
        result = self.transfer("put", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        self.assertEqual(os.listdir(server.root), ["file"])
        self.assertGreaterEqual(result.summary["bytes_kept"], before)
        self.assertEqual(result.summary["bytes"] + result.summary["bytes_kept"], os.path.getsize(source))

    def test_get_goes_on_too(self):
        server = self.server()
        source = self.random_file("file", 40 * MIB + 1234, folder="root")
        back = self.folder("back")
        before = self.cut_half_way(server, source, folder=back, how=self.SLOWLY, get=True)
        result = self.transfer("get", server.url("file"), back)
        self.assert_same(source, os.path.join(back, "file"))
        self.assertEqual(os.listdir(back), ["file"])
        self.assertGreaterEqual(result.summary["bytes_kept"], before)

    def test_the_thread_disk_goes_on_too(self):
        server = self.server(settings={"io_uring": "false"})
        source = self.random_file("file", 24 * MIB)
        before = self.cut_half_way(server, source, how=(*self.SLOWLY, "--no-uring"))
        result = self.transfer("put", "--no-uring", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        self.assertGreaterEqual(result.summary["bytes_kept"], before)

    def test_a_byte_that_rotted_in_the_partial_file(self):
        server = self.server()
        source = self.random_file("file", 24 * MIB)
        self.cut_half_way(server, source, how=self.SLOWLY)
        server.kill()
        before = durable_bytes(server.root)
        first, last = max((r for j in journals_below(server.root) for r in durable(j)), key=lambda r: r[1] - r[0])
        part, = (p for p in server.parts() if p.endswith(b".part"))
        with open(part, "r+b") as file:
            file.seek((first + last) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 4]))
        server = self.again(server)
        result = self.transfer("put", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        self.assertEqual(result.summary["leaves_again"], 1)
        self.assertEqual(result.summary["bytes_kept"], before - MIB)

    def test_a_byte_where_the_source_has_a_hole(self):
        hole, data = 16 * MIB, 24 * MIB
        for get, how in ((False, ()), (True, ("--no-uring",))):
            with self.subTest(get=get):
                server = self.server(root=self.folder(f"root-{get}"), state=self.folder(f"state-{get}"))
                here = self.folder(f"here-{get}")
                source = os.path.join(server.root if get else here, "file")
                with open(source, "wb") as file:
                    file.seek(hole)
                    file.write(self.random.randbytes(data))
                self.cut_half_way(server, source, here if get else None, how=(*self.SLOWLY, *how), get=get)
                target = os.path.join(here if get else server.root, "file")
                name, = (name for name in os.listdir(os.path.dirname(target)) if name.endswith(".part"))
                with open(os.path.join(os.path.dirname(target), name), "r+b") as file:
                    file.seek(hole // 2 + 5)
                    file.write(b"rot")
                ends = (server.url("file"), target) if get else (source, server.url("file"))
                result = self.transfer("get" if get else "put", *how, *ends)
                self.assertGreater(result.summary["bytes_kept"], 0)
                self.assert_same(source, target)
                self.assertLess(os.stat(target).st_blocks * 512, data + MIB)

    def test_a_source_that_changed_starts_again(self):
        server = self.server()
        source = self.random_file("file", 24 * MIB)
        self.cut_half_way(server, source, how=self.SLOWLY)
        os.unlink(source)
        source = self.random_file("file", 24 * MIB)
        result = self.transfer("put", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        self.assertEqual(result.summary["bytes_kept"], 0)

    def test_a_journal_alone_goes(self):
        server = self.server()
        self.cut_half_way(server, self.random_file("file", 24 * MIB), how=self.SLOWLY)
        self.until_unlocked(server)
        part, = (p for p in server.parts() if p.endswith(b".part"))
        os.unlink(part)
        # So small that it needs none itself.
        self.transfer("put", self.random_file("file", 2 * MIB), server.url("file"))
        self.assertEqual(os.listdir(server.root), ["file"])

    def test_a_partial_file_beside_what_was_done_goes(self):
        server = self.server()
        tree = os.path.dirname(self.random_file("file", 1000, folder="tree")) + b"/"
        self.transfer("put", tree, server.url("to"))
        # As a transfer that was killed leaves it, while another made the file: its name's digest.
        self.file_with(server.path("to/.lambda-f7f3387d17298c1b8947c03f40451220.part"), b"whole")
        self.assertEqual(self.client("put", tree, server.url("to")).code, DONE)
        self.assertEqual(server.parts(), [])

    def test_half_a_tebibyte_is_no_reason_to_wait(self):
        server = self.server()
        source = os.path.join(self.folder("local"), "sparse")
        with open(source, "wb") as file:
            for number in range(48):
                file.seek(number * 21 * GIB)
                file.write(self.random.randbytes(MIB))
            file.truncate(1024 * GIB)
        client = self.start("put", *self.SLOWLY, source, server.url("sparse"))
        self.wait_for_part(server.root, client, 24 * MIB)
        until_durable(server.root, client, 1024 * GIB - 23 * MIB)  # holes count
        client.kill()
        part, = (p for p in server.parts() if p.endswith(b".part"))

        def allocated():
            return os.stat(part).st_blocks if os.path.exists(part) else float("inf")
        before = allocated()
        began = time.monotonic()
        client = self.start("put", *self.SLOWLY, source, server.url("sparse"))
        wait_for(lambda: allocated() > before, "the first new byte", alive=client.running)
        took = time.monotonic() - began
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assert_same_sparse(source, server.path("sparse"))
        self.assertLess(took, 2)

    def test_kills_at_random_moments(self):
        server = self.server()
        sizes = {"file 0": 20 * MIB + 5, "empty": 0, "tiny": 700, "sub/small": 100_000, "sub/leaf": MIB,
                 "sub/leaf and one": MIB + 1, "sub/deep/4": 4 * MIB, "sub/deep/9": 9 * MIB + 77}
        self.folder("local/sub/deep")
        for name, size in sizes.items():
            self.random_file(name, size)
        tree = self.folder("local") + "/"
        try:
            udp = UdpCounter()
        except unittest.SkipTest as reason:
            udp = None
            print(f"SKIPPED the count of bytes at the interface: {reason}", file=sys.stderr)
        kills = 200 if Settings.long else 12
        done = all_durable = all_twice = 0
        while kills > 0:
            done += 1
            target = f"into {done}"
            durable_before = 0
            while True:
                stripes = self.random.randrange(1, 17)
                counted = udp.bytes() if udp else 0
                client = self.start("put", "--stripes", str(stripes), *self.SLOWLY, tree, server.url(target))
                enough = durable_before + self.random.uniform(-4 * MIB, 8 * MIB)
                early = time.monotonic() + self.random.uniform(0.05, 0.5)
                while kills > 0 and client.running() and (
                        self.kept(server, target, sizes) < enough if enough > durable_before
                        else time.monotonic() < early):
                    time.sleep(0.005)
                if not client.running() or kills == 0:
                    break
                kills -= 1
                what = self.random.choice(["client", "server", "both"])
                if what != "server":
                    client.kill()
                if what != "client":
                    server.kill()
                    server = self.again(server)
                client.wait()
                self.until_unlocked(server)
                durable_before = self.kept(server, target, sizes)
            self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
            for name in sizes:
                self.assert_same(os.path.join(tree, name), server.path(os.path.join(target, name)))
            self.assertEqual(server.parts(), [])
            missing = sum(sizes.values()) - durable_before
            twice = max(0, Result(client).summary["bytes"] - missing)
            self.assertLessEqual(twice, durable_before * 0.02)
            if udp:
                # Beside the data: a header of 60 bytes on packets of 1,200 at least, and probes of the path.
                self.assertLessEqual(udp.bytes() - counted, missing * 1.06 + durable_before * 0.02 + stripes * 160 * KIB)
            all_durable += durable_before
            all_twice += twice
        print(f"{done} trees: {all_twice} bytes moved twice of {all_durable} that were durable", file=sys.stderr)

    def until_unlocked(self, server):
        """The server noticed that its client is gone: nobody writes a partial file any more."""
        def free():
            for part in server.parts():
                with contextlib.suppress(FileNotFoundError), open(part, "rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        return False
            return True
        wait_for(free, "the end of all writing")

    def kept(self, server, target, sizes):
        """Bytes of the tree that are durable, in partial files or under their names."""
        folder = server.path(target)
        landed = sum(size for name, size in sizes.items()
                     if os.path.exists(os.path.join(folder, os.fsencode(name))))
        try:
            return landed + durable_bytes(server.root)
        except FileNotFoundError:  # a journal went with its file's landing
            return landed

    def test_the_same_command_at_once_waits_for_what_the_killed_one_flushes(self):
        held = os.path.join(self.scratch, "held")
        os.mkfifo(held)
        server = self.server(launcher=["env", f"LD_PRELOAD={support_program('held_flush.so')}", f"HELD_FLUSH={held}"])
        source = self.random_file("file", 24 * MIB)
        client = self.start("put", *self.SLOWLY, source, server.url("file"))
        wait_for(lambda: os.path.exists(held + ".asked"), "a flush", alive=client.running)
        client.kill()
        again = self.start("put", source, server.url("file"))
        wait_for(lambda: "waits for the end of the transfer before" in server.stderr, "the wait", alive=again.running)
        self.addCleanup(os.close, os.open(held, os.O_RDWR))
        os.unlink(held)
        self.assertEqual(again.wait(), DONE, again.stdout + again.stderr)
        self.assert_same(source, server.path("file"))
        self.assertEqual(server.parts(), [])

    def test_a_lost_session_is_dialled_again(self):
        server = self.server()
        # Three portions that become durable, each of a block of every stripe: there is something left to cut.
        size = (14 + 4 * (Settings.stripes or 4)) * MIB
        sources = [self.random_file("small", 1000), self.random_file("file", size)]
        client = self.start("put", *self.SLOWLY, "--retry-for", "1min", *sources, server.url("into/"))
        until_durable(server.root, client, 8 * MIB)
        for _ in range(2):
            before = durable_bytes(server.root)
            server.kill()
            server = self.again(server)
            until_durable(server.root, client, before + MIB)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        result = Result(client)
        for source in sources:
            self.assert_same(source, server.path(b"into/" + os.path.basename(source)))
        self.assertEqual(sorted(os.listdir(server.path("into"))), [b"file", b"small"])
        self.assertEqual(result.summary["files"], 2)
        self.assertLess(result.summary["bytes"], size + MIB + 2 * 16 * MIB)
        self.assertEqual(result.summary["cuts"], 2)
        self.assertIsNone(result.summary["left_over"])

    def test_a_certificate_that_is_refused_ends_the_tries(self):
        own, others = (self.certificate(self.folder(name), "ed25519") for name in ("own", "others"))
        server = self.server(settings=own)
        client = self.start("put", *self.SLOWLY, "--retry-for", "1min", "--ca", own["certificate"],
                            self.random_file("file", 30 * MIB), server.url("file"), trust=False)
        until_durable(server.root, client, 8 * MIB)
        server.kill()
        self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}", settings=others)
        self.assertEqual(client.wait(), CUT, client.stdout + client.stderr)
        self.assertIn("the server's certificate does not verify", client.stderr)
        self.assertNotRegex(client.stderr, "does not verify.*trying again")

    def test_a_tree_is_tried_again_in_its_own_place(self):
        server = self.server()
        tree = self.folder("tree")
        source = self.file_with(os.path.join(os.fsencode(tree), b"file"), self.random.randbytes(30 * MIB))
        self.file_with(os.path.join(os.fsencode(tree), b"small"), b"x")
        client = self.start("put", *self.SLOWLY, "--retry-for", "1min", tree, server.url("new"))
        until_durable(server.root, client, 8 * MIB)
        server.kill()
        server = self.again(server)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        self.assertEqual(sorted(os.listdir(server.path("new"))), [b"file", b"small"])
        self.assert_same(source, server.path(b"new/file"))

    def test_the_time_for_dialling_again_is_over(self):
        server = self.server()
        sources = [self.random_file("small", 1000), self.random_file("file", 30 * MIB)]
        left_over = os.path.join(self.scratch, "left-over")
        client = self.start("put", *self.SLOWLY, "--retry-for", "2s", "--left-over", left_over, *sources,
                            server.url("into/"))
        until_durable(server.root, client, 8 * MIB)
        wait_for(lambda: os.path.exists(server.path("into/small")), "the small file", alive=client.running)
        server.kill()
        self.assertEqual(client.wait(), CUT, client.stdout + client.stderr)
        with open(left_over, "rb") as file:
            self.assertEqual(file.read(), sources[1] + b"\0")
