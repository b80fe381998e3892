"""Ranges of a file: as files of their own, and put together on a stage by several at once."""

import os
import signal

from harness import CUT, DONE, FILE_FAILED, MIB, USAGE, Case, Result, parts_below

SLOWLY = ("--rate-limit", "16Mbit/s")  # 2 MB/s: nothing of 16 MiB ends by itself while a test looks


class Ranges(Case):
    def sparse_file(self, name, folder="local"):
        """13 MiB and a bit: data, a hole that reaches over a bound, data."""
        path = self.random_file(name, 5 * MIB, folder)
        with open(path, "r+b") as file:
            file.seek(11 * MIB)
            file.write(self.random.randbytes(2 * MIB + 12_345))
        os.chmod(path, 0o640)
        os.utime(path, ns=(1, 1_234_567_890_123_456_789))
        return path

    def staged(self, direction, server, here, there, *options, stage="job"):
        """What comes behind the program's name."""
        places = (here, server.url(there)) if direction == "put" else (server.url(there), here)
        return (direction, "--stage", stage, *options, *places)

    def finish(self, *where):
        return self.client(*self.staged(*where, "--finish"))

    def four_at_once(self, direction, server, here, there, *how):
        bounds = ("0-4194303", "4194304-8388607", "8388608-12582911", "12582912-")
        movers = [self.start(*self.staged(direction, server, here, there, "--range", bound, *how))
                  for bound in bounds]
        results = [Result(mover) for mover in movers]
        for result in results:
            self.assertEqual(result.code, DONE, str(result))
            self.assertEqual((result.summary["files"], result.summary["verified"]), (1, 1), str(result))
        return results

    def assert_alike(self, one, other):
        self.assert_same_sparse(one, other)
        a, b = os.stat(one), os.stat(other)
        self.assertEqual((a.st_mode, a.st_mtime_ns), (b.st_mode, b.st_mtime_ns))
        self.assertLess(b.st_blocks * 512, b.st_size, "the hole became zeros")

    def test_four_movers_put_one_file(self):
        server = self.server()
        source = self.sparse_file("source")
        where = ("put", server, source, "below\n/file\r%0A")
        self.assert_failed(self.finish(*where), FILE_FAILED)
        results = self.four_at_once(*where)
        self.assertEqual(sum(result.summary["bytes"] for result in results), 7 * MIB + 12_345)
        self.assertFalse(os.path.exists(server.path("below\n/file\r%0A")))
        self.assertEqual(self.finish(*where).code, DONE)
        self.assert_alike(source, server.path("below\n/file\r%0A"))
        self.assertEqual(server.parts(), [])
        # Again, all of it: there is nothing to do, and nothing moves.
        again = self.client(*self.staged(*where, "--range", "0-4194303"))
        self.assertEqual((again.code, again.summary["bytes"]), (DONE, 0), str(again))
        self.assertEqual(self.finish(*where).code, DONE)
        self.assertEqual(os.listdir(server.path("below\n")), [b"file\r%0A"])

    def test_four_movers_get_one_file(self):
        server = self.server()
        source = self.sparse_file("source", folder="root")
        here = os.path.join(self.folder("back"), "file")
        where = ("get", server, here, "source")
        self.assert_failed(self.finish(*where), FILE_FAILED)
        self.four_at_once(*where, "--verify", "readback")
        self.assertFalse(os.path.exists(here))
        self.assertEqual(self.finish(*where).code, DONE)
        self.assert_alike(source, here)
        self.assertEqual(os.listdir(self.folder("back")), ["file"])

    def test_a_hole_never_gets_the_name(self):
        server = self.server()
        source = self.random_file("source", 3 * MIB)
        where = ("put", server, source, "file")
        self.transfer(*self.staged(*where, "--range", "0-1048575"))
        self.transfer(*self.staged(*where, "--range", "2097152-"))
        finished = self.finish(*where)
        self.assert_failed(finished, FILE_FAILED)
        self.assertIn("1048576", finished.said())
        self.assertFalse(os.path.exists(server.path("file")))
        self.assertEqual(self.client(*self.staged(*where, "--discard")).code, DONE)
        self.assertEqual(server.parts(), [])

    def under_way(self, direction, server, fence):
        """A slow mover of all of a file, in the middle of it. Returns it, where it moves, and the ends."""
        put = direction == "put"
        source = self.random_file("source", 16 * MIB, folder="local" if put else "root")
        here = os.fsdecode(source) if put else os.path.join(self.folder("back"), "file")
        where = (direction, server, here, "file" if put else "source")
        mover = self.start(*self.staged(*where, "--range", "0-", "--fence", str(fence), *SLOWLY))
        target = os.fsdecode(server.path("file")) if put else here
        self.wait_for_part(os.path.dirname(target), mover, MIB)
        return mover, where, source, target

    def take_again(self, where, source, target, fence):
        result = self.transfer(*self.staged(*where, "--range", "0-", "--fence", str(fence)))
        self.assertEqual(self.finish(*where).code, DONE)
        self.assert_same(source, target)
        self.assertEqual(parts_below(os.path.dirname(target)), [])
        return result

    def test_a_newer_lease_ends_the_older_session(self):
        server = self.server()
        mover, where, source, target = self.under_way("put", server, 5)
        # Neither an older nor the same lease may, and they harm nothing; but neighbours are free.
        for fence in ("4", "5"):
            late = self.client(*self.staged(*where, "--range", "1048576-2097151", "--fence", fence))
            self.assert_failed(late, FILE_FAILED)
        self.assertTrue(mover.running())
        mover.signal(signal.SIGSTOP)
        self.take_again(where, source, target, 6)
        mover.signal(signal.SIGCONT)
        self.assert_failed(Result(mover), CUT)
        self.assert_same(source, target)
        self.assertEqual(server.parts(), [])
        self.assert_serving(server)

    def test_who_gives_no_fence_takes_over_whatever_it_was(self):
        for direction in ("put", "get"):
            with self.subTest(direction):
                server = self.server(root=self.folder(f"root-{direction}"))
                put = direction == "put"
                source = self.random_file("source", 16 * MIB, folder="local" if put else f"root-{direction}")
                here = os.fsdecode(source) if put else os.path.join(self.folder("back"), "file")
                where = (direction, server, here, "file" if put else "source")
                target = os.fsdecode(server.path("file")) if put else here
                ahead = ("--fence", "4000000000000000000")  # of a clock that is far ahead
                mover = self.start(*self.staged(*where, "--range", "0-", *ahead, *SLOWLY))
                self.wait_for_part(os.path.dirname(target), mover, MIB)
                mover.signal(signal.SIGSTOP if put else signal.SIGKILL)
                self.transfer(*self.staged(*where, "--range", "0-"))
                self.assertEqual(self.finish(*where).code, DONE)
                self.assert_same(source, target)
                mover.kill()

    def test_what_a_stopped_process_holds_here_is_waited_for(self):
        server = self.server()
        mover, where, source, target = self.under_way("get", server, 1)
        mover.signal(signal.SIGSTOP)
        busy = self.client(*self.staged(*where, "--range", "0-", "--fence", "2"))
        self.assert_failed(busy, CUT)
        self.assert_failed(self.finish(*where), FILE_FAILED)
        mover.kill()
        self.take_again(where, source, target, 2)

    def test_a_killed_mover_of_a_put_is_followed(self):
        server = self.server()
        mover, where, source, target = self.under_way("put", server, 1)
        mover.kill()
        self.take_again(where, source, target, 2)

    def test_a_killed_server_is_followed(self):
        server = self.server()
        mover, where, source, target = self.under_way("put", server, 1)
        server.kill()
        self.assert_failed(Result(mover), CUT)
        server = self.server(root=server.root, state=server.state)
        where = (where[0], server, *where[2:])
        late = self.client(*self.staged(*where, "--range", "0-", "--fence", "1"))
        self.assert_failed(late, FILE_FAILED)  # the leases outlive the server
        self.take_again(where, source, target, 2)

    def test_a_source_that_changed_is_not_mixed_in(self):
        server = self.server()
        source = self.random_file("source", 2 * MIB)
        where = ("put", server, source, "file")
        self.transfer(*self.staged(*where, "--range", "0-1048575"))
        self.file_with(source, self.random.randbytes(2 * MIB))
        self.assert_failed(self.client(*self.staged(*where, "--range", "1048576-")), FILE_FAILED)
        self.assert_failed(self.finish(*where), FILE_FAILED)
        self.assertEqual(self.client(*self.staged(*where, "--discard")).code, DONE)
        self.transfer(*self.staged(*where, "--range", "0-"))
        self.assertEqual(self.finish(*where).code, DONE)
        self.assert_same(source, server.path("file"))

    def test_what_does_not_fit_is_refused(self):
        server = self.server()
        source = self.random_file("source", 3 * MIB)
        for bound in ("1-1048576", "0-1048576", "0-4194303", "3145728-", "9223372036854775806-"):
            result = self.client(*self.staged("put", server, source, "file", "--range", bound))
            self.assert_failed(result, USAGE)
        for bound in ("x", "5", "2-1", "-5", "0-9223372036854775807", "18446744073709551616-"):
            self.assert_failed(self.client("get", f"--range={bound}", server.url("a"), "."), USAGE)
        for path in ("../file", "a/../../file"):
            result = self.client(*self.staged("put", server, source, path, "--range", "0-"))
            self.assert_failed(result, FILE_FAILED)
        for how in (("--range", "0-"), ("--finish",)):
            empty = self.client(*self.staged("put", server, self.random_file("empty", 0), "file", *how))
            self.assert_failed(empty, USAGE)
            self.assertIn("an empty file has no ranges", empty.said())
        self.assertEqual(os.listdir(server.root), [])
        self.assertEqual(parts_below(self.scratch), [])
        for options in (("--finish",), ("--stage", "a"), ("--stage", "a/b", "--finish"),
                        ("--stage", "a", "--finish", "--discard"), ("--fence", "1", "--range", "0-")):
            self.assert_failed(self.client("put", *options, source, server.url("file")), USAGE)
        self.assert_serving(server)

    def test_a_range_is_a_file_of_its_own(self):
        server = self.server()
        source = self.random_file("source", 4 * MIB + 99)
        with open(source, "rb") as file:
            content = file.read()
        self.transfer("put", source, server.url("whole"))
        back = os.path.join(self.folder("back"), "part")
        for bound, first, last in (("100-199", 100, 200), ("1000000-3999999", 1_000_000, 4_000_000),
                                   ("4194304-", 4 * MIB, len(content)), ("0-99999999", 0, len(content)),
                                   ("4194400-4194402", 4_194_400, 4_194_403)):
            self.transfer("get", "--range", bound, server.url("whole"), back)
            with open(back, "rb") as file:
                self.assertTrue(file.read() == content[first:last], bound)
            self.transfer("put", "--range", bound, source, server.url("part"))
            self.assert_same(back, server.path("part"))
        behind = self.client("get", "--range", "4194403-", server.url("whole"), back)
        self.assert_failed(behind, FILE_FAILED)
        os.mkdir(server.path("folder"))
        self.assert_failed(self.client("get", "--range", "0-1", server.url("folder"), back), FILE_FAILED)
        self.assertTrue(os.path.isfile(back))
        self.assert_failed(self.client("put", "--range", "0-1", self.folder("local"), server.url("x")), USAGE)
        self.assert_failed(self.client("put", "--range", "0-1", source, source, server.url("x/")), USAGE)
