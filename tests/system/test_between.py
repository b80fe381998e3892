"""sync between two servers, and what a copy between them tells of itself (docs/copy.md, docs/sync.md)."""

import os
import subprocess

from betweens import BetweenCase
from copies import fingerprint
from harness import DONE, FILE_FAILED, MIB, USAGE, need_isolation, need_program, wait_for
from sessions import TERMS, Session
from trees import nasty, outdated, snapshot

WHOLE, ERASE, DRY_RUN = 1, 2, 4


def record_sync(flags, most=2**64 - 1):
    """SYNC of docs/protocol.md §7, without rules, in hex."""
    return "2a00000b" + f"{flags:02x}{most:016x}0000"


class SyncBetween(BetweenCase):
    def test_a_dry_run_leaves_the_list_of_what_is_left_over(self):
        a, b = self.pair()
        self.file_with(a.path("here"), b"x")
        left = self.file_with(os.path.join(self.scratch, "left"), b"here\0")
        before = os.stat(left).st_ctime_ns
        for name, code in (("here", DONE), ("missing", FILE_FAILED)):
            self.sync("--dry-run", "--left-over", left, a.url(name), b.url("there"), code=code)
            self.assertEqual(os.stat(left).st_ctime_ns, before)

    def test_as_rsync_would_leave_it(self):
        rsync = need_program("rsync")
        need_isolation()
        for source_dials in (False, True):
            with self.subTest(source_dials=source_dials):
                a, b = (self.server(root=self.folder(f"{side}{source_dials}"), state=self.folder(f"s{side}{source_dials}"),
                                    settings={"copy_hosts": '["127.0.0.1"]'} if (side == "a") == source_dials else {})
                        for side in "ab")
                source, target = os.fsdecode(a.path("source")), os.fsdecode(b.path("copy"))
                nasty(source, archive=True)
                outdated(source, target, rsync)
                before = snapshot(target)
                places = "--archive", "--delete", a.url("source"), b.url("copy")
                planned = self.sync("--dry-run", *places)
                self.assertEqual(snapshot(target), before)
                self.assertEqual(planned.summary["bytes"], 0)
                done = self.sync(*places)
                self.assertEqual(self.changes(planned), self.changes(done))
                self.assertIn(("delete", "a new one"), self.changes(done))
                self.assertGreater(done.summary["adopted"], 0)
                for key in ("created", "replaced", "attributes", "deleted", "planned_bytes"):
                    self.assertEqual(done.summary[key], planned.summary[key], key)
                self.assertGreater(planned.summary["planned_bytes"], 0)
                differences = subprocess.run([rsync, "-anHiAX", "--checksum", "--delete", source + "/", target + "/"],
                                             capture_output=True, check=True).stdout
                self.assertEqual(differences, b"")
                before = snapshot(target)
                again = self.sync(*places)
                self.assertEqual((self.changes(again), again.summary["bytes"]), ([], 0))
                self.assertEqual(snapshot(target), before)

    def test_the_options(self):
        a, b = self.pair()
        for server, content in ((a, b"source"), (b, b"target")):
            os.makedirs(server.path("t/sub"))
            for name in ("both", "sub/both"):
                self.file_with(server.path("t/" + name), content)
                os.utime(server.path("t/" + name), (1, 1))  # as large and as old as the other
        self.file_with(a.path("t/new"), b"new")
        self.file_with(b.path("t/extra"), b"extra")
        self.file_with(b.path("t/kept.tmp"), b"left out")
        places = a.url("t"), b.url("t")
        self.assertEqual(self.moves(self.sync("--existing", *places)), [])
        refused = self.sync("--delete", "--max-delete", "0", "--existing", "--exclude", "*.tmp", *places,
                            code=FILE_FAILED)
        self.assertEqual(self.moves(refused), [])
        self.assertTrue(os.path.exists(b.path("t/extra")))
        self.assertEqual(self.moves(self.sync("--ignore-existing", "--checksum", *places)), [("create", "new")])
        found = self.sync("--checksum", "--delete", "--exclude", "*.tmp", *places)
        self.assertEqual(self.moves(found), [("delete", "extra"), ("replace", "both"), ("replace", "sub/both")])
        self.assert_same(a.path("t/sub/both"), b.path("t/sub/both"))
        self.assertTrue(os.path.exists(b.path("t/kept.tmp")))
        # A file, in its words and without the client.
        self.file_with(a.path("t/new"), b"newer")
        self.assertEqual(self.moves(self.sync(a.url("t/new"), b.url("t/new"))), [("replace", "new")])
        self.file_with(b.path("t/extra"), b"once more")
        number = self.sync("--delete", "--detach", *places).events[0]["copy"]
        waited = self.client("copies", b.url(), "--wait", str(number))
        self.assertEqual((waited.code, waited.summary["deleted"]), (DONE, 2), str(waited))
        self.assertFalse(os.path.exists(b.path("t/extra")))
        for options in (("--detach", "--dry-run"), ("--max-delete", "3")):
            self.sync(*options, *places, code=USAGE)

    def test_a_grant_says_what_may_be_deleted(self):
        """The source dials. What it asks for must be what the destination's account granted."""
        need_program("openssl")
        a, b = self.pair(source_dials=True)
        os.makedirs(a.path("t"))
        self.file_with(a.path("t/new"), b"new")
        os.makedirs(b.path("t"))
        self.file_with(b.path("t/extra"), b"extra")
        source, target = Session(self, a), Session(self, b)

        def copy(granted, asked):
            facts = f"direction=put;peer={fingerprint(a)};life=60;several=1;"
            grant = target.grant(self, facts + (f"sync={granted};" if granted else ""), "/t")
            return source.last(f"COPY direction=put;{TERMS}host=127.0.0.1;port={b.port};peer={fingerprint(b)};"
                               f"grant={grant};there=/t;contents=1;several=1;" + (f"sync={asked};" if asked else "") +
                               " /t")

        sync, erase, look = record_sync(WHOLE), record_sync(WHOLE | ERASE), record_sync(WHOLE | ERASE | DRY_RUN)
        for granted, asked in ((None, erase), (sync, erase), (record_sync(WHOLE | ERASE, 0), erase), (look, erase),
                               (look, None), (look, sync), (erase, None)):
            code, lines = copy(granted, asked)
            self.assertEqual(code, 426, (granted, asked, lines))
            self.assertIn("sync", "".join(lines))
            self.assertEqual(sorted(os.listdir(b.path("t"))), [b"extra"], (granted, asked))
        self.assertEqual(copy(look, look)[0], 226)
        self.assertEqual(sorted(os.listdir(b.path("t"))), [b"extra"])
        self.assertEqual(copy(erase, erase)[0], 226)
        self.assertEqual(sorted(os.listdir(b.path("t"))), [b"new"])
        for bad in ("zz", "2a", "2a00000b03", "2900000400000000", erase + "00", erase * 2):
            answer = target.ask(f"GRANT direction=put;peer={fingerprint(a)};life=60;sync={bad}; /t")
            self.assertEqual(answer[0], 501, bad)
            answer = source.ask(f"COPY direction=put;{TERMS}host=127.0.0.1;port={b.port};peer={fingerprint(b)};"
                                f"grant={'00' * 16};there=/t;sync={bad}; /t")
            self.assertEqual(answer[0], 501, bad)

    def test_more_to_tell_than_anybody_reads(self):
        """Words wait for who reads them, and none is lost; who hangs up ends the copy."""
        need_program("openssl")
        a, b = self.pair()
        os.makedirs(a.path("t"))
        names = [f"{i:04d}" + "x" * 200 for i in range(4000)] + ["with\na line end", "100 % of ;it", "\udcff"]
        for name in names:
            os.symlink("x", a.path("t/" + name))
        source, target = Session(self, a), Session(self, b)

        def begin():
            grant = source.grant(self, f"direction=get;peer={fingerprint(b)};life=60;contents=1;", "/t")
            target.stream.sendall((f"COPY direction=get;{TERMS}host=127.0.0.1;port={a.port};peer={fingerprint(a)};"
                                   f"grant={grant};there=/t;contents=1;several=1;sync={record_sync(WHOLE)}; /t\r\n")
                                  .encode())

        begin()
        # Nobody reads while it begins; its words come to more than the sockets between hold at once.
        wait_for(lambda: os.path.isdir(b.path("t")) and os.listdir(b.path("t")), "the first link", alive=b.running)
        told, answer = [], target.hear()
        while answer[0] < 200:
            if answer[0] == 113:
                told.append(answer[1][0])
            answer = target.hear()
        self.assertEqual(answer[0], 226, answer)
        self.assertEqual(sorted(os.listdir(b.path("t"))), sorted(map(os.fsencode, names)))
        self.assertEqual(len(told), len(names) + 1)  # and the directory itself
        self.assertIn("change=create;path=with%0Aa%20line%20end;", told)
        again = self.sync("--dry-run", a.url("t"), b.url("t2"))
        self.assertEqual({path for _, path in self.changes(again)} - {"."}, set(names))
        for name in os.listdir(b.path("t")):
            os.unlink(os.path.join(b.path("t"), name))
        begin()
        wait_for(lambda: os.listdir(b.path("t")), "the first link", alive=b.running)
        target.stream.close()
        wait_for(lambda: "copy 3: " in b.stderr and any("copy 3: " + end in b.stderr for end in ("cut", "ended")),
                 "its end", alive=b.running)
        self.assert_serving(b)


class Told(BetweenCase):
    def test_what_a_copy_tells(self):
        """The summary of a copy is that of a put: its stripes, and what held it back."""
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(12 * MIB))
        result = self.copy(a.url("big"), b.url("big"), "--rate-limit", "80Mbit/s", "--stripes", "3", "--verbose")
        put = self.transfer("put", a.path("big"), b.url("put"), "--stripes", "3")
        self.assertEqual(set(result.summary), set(put.summary))
        self.assertEqual(set(result.summary["verdict"]), set(put.summary["verdict"]))
        self.assertEqual(len(result.summary["stripes"]), 3)
        self.assertEqual(sum(stripe["bytes"] for stripe in result.summary["stripes"]), 12 * MIB)
        verdict = result.summary["verdict"]
        self.assertGreater(verdict["sender"]["elapsed_us"], 500_000)
        self.assertGreater(verdict["receiver"]["elapsed_us"], 500_000)
        # Which of the two it was, is the machine's affair: the limit, where nothing else held it up.
        self.assertGreater(verdict["sender"]["limit_us"], 0)
        self.assertIn(verdict["why"], result.stderr)
        os.mkdir(a.path("tree"))
        os.mkfifo(a.path("tree/pipe"))
        self.file_with(a.path("tree/one"), b"1")
        skipped = self.copy(a.url("tree"), b.url("tree"))
        self.assertRegex(skipped.stderr, r"skipped \S*pipe: ")
        again = self.copy(a.url("tree/"), b.url("tree"))
        self.assertEqual((again.summary["adopted"], again.summary["adopted_bytes"]), (1, 1))
        for copy in self.client("copies", b.url()).events:
            self.assertGreaterEqual(copy.get("total_bytes", 0), copy.get("bytes", 0), copy)
        listed = self.client("copies", b.url(), json=False).stdout.splitlines()
        self.assertIn("done  nothing to do: 1 file stood there already: from ", listed[-1])
        self.assertNotIn("nothing to do", "".join(listed[:-1]))
        self.assertIn("no copy of this account", self.client("copies", a.url(), json=False).stderr)

    def test_what_has_come_counts_before_a_block_is_whole(self):
        a, b = self.pair()
        self.file_with(a.path("slow"), self.random.randbytes(8 * MIB))
        number = self.copy(a.url("slow"), b.url("slow"), "--detach", "--rate-limit", "1Mbit/s").events[0]["copy"]

        def moving():
            copies = [event for event in self.client("copies", b.url()).events if event["event"] == "copy"]
            return copies[0] if copies[0]["bytes"] > 0 else None

        first = wait_for(moving, "its first bytes", alive=b.running)
        self.assertLess(first["bytes"], 1 * MIB)
        self.assertGreater(first["bit_per_s"], 0)
        self.assertEqual(self.client("copies", b.url(), "--cancel", str(number)).code, DONE)

    def test_a_timetable(self):
        """Kept by the server that dials, whichever that is; here it says the same all day."""
        servers = [self.server(root=self.folder(name), state=self.folder(name + "-state"),
                               settings={"copy_hosts": '["127.0.0.1"]'}) for name in ("one", "other")]
        size, rate = 6 * MIB, 24_000_000
        self.file_with(servers[0].path("big"), self.random.randbytes(size))
        for dials in ("source", "destination"):
            done = self.copy(servers[0].url("big"), servers[1].url(dials), "--connect", dials, "--rate-limit",
                             f"00:00-12:00 {rate}bit/s, 12:00-24:00 {rate}bit/s")
            self.assertGreater(done.summary["transfer_seconds"], 0.7 * 8 * size / rate, done.summary)
