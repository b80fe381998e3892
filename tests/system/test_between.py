"""sync between two servers, and what a copy between them tells of itself (docs/copy.md, docs/sync.md)."""

import json
import os
import subprocess

from copies import CopyCase, fingerprint
from harness import (CUT, DONE, FILE_FAILED, KIB, MIB, NO_SESSION, PASSWORD, USAGE, USER, Result, need_isolation,
                     need_program, parts_below, wait_for)
from line import Line
from sessions import TERMS, Impostor, Session
from trees import names_below, nasty, outdated, snapshot, tree_of

WHOLE, ERASE, DRY_RUN = 1, 2, 4


def record_sync(flags, most=2**64 - 1):
    """SYNC of docs/protocol.md §7, without rules, in hex."""
    return "2a00000b" + f"{flags:02x}{most:016x}0000"


class BetweenCase(CopyCase):
    def sync(self, *arguments, code=DONE, **how):
        result = self.client("sync", *self.both(), *arguments, **how)
        self.assertEqual(result.code, code, str(result))
        return result

    @staticmethod
    def changes(result):
        return sorted((event["change"], event["path"]) for event in result.events if event["event"] == "change")

    def moves(self, result):
        return [change for change in self.changes(result) if change[0] != "attributes"]


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


class Replicated(BetweenCase):
    """A job whose sources are at one server and whose destinations are at others."""

    def setUp(self):
        super().setUp()
        dials = {"copy_hosts": '["127.0.0.0/8"]'}
        self.a = self.server(root=self.folder("a-root"), state=self.folder("a-state"), settings=dials)
        self.b = self.server(root=self.folder("b-root"), state=self.folder("b-state"), settings=dials)
        self.c = self.server(root=self.folder("c-root"), state=self.folder("c-state"))  # it is dialled
        self.source = os.fsdecode(self.a.path("source"))
        os.mkdir(self.source)

    def job(self, **more):
        path = os.path.join(self.scratch, "job.yaml")
        keys = {"sources": self.a.url("source/"), "destinations": [self.b.url("copy"), self.c.url("copy")],
                "source_password_file": self.client_password, "back_off": "200ms", "state": "job.db", **more}
        with open(path, "w") as file:
            file.writelines(f"{key}: {json.dumps(value)}\n" for key, value in keys.items() if value is not None)
        return path

    def tree(self):
        for name, size in (*((f"many/{i}", 3 * KIB) for i in range(40)), ("one/large", 2 * MIB), ("zero", 0)):
            os.makedirs(os.path.dirname(os.path.join(self.source, name)), exist_ok=True)
            self.file_with(os.path.join(self.source, name), self.random.randbytes(size))
        os.makedirs(os.path.join(self.source, "empty"))
        os.symlink("many/7", os.path.join(self.source, "link [1]*"))
        self.file_with(os.path.join(os.fsencode(self.source), b"odd \xff\n name"), b"x")
        os.chmod(os.path.join(self.source, "many"), 0o751)
        os.utime(os.path.join(self.source, "one"), ns=(1, 123456789123456789))

    def run_job(self, job, *words, code=DONE):
        result = self.client("replicate", job, *words)
        self.assertEqual(result.code, code, str(result))
        return result

    def test_a_link_that_took_a_place_at_the_source_is_not_followed(self):
        names = [f"{directory}/{number}" for directory in ("", "z/deep") for number in range(8)]
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(self.source, name.lstrip("/"))), exist_ok=True)
            self.file_with(os.path.join(self.source, name.lstrip("/")), self.random.randbytes(64 * KIB))
        secret = os.path.join(os.path.dirname(self.source), "elsewhere")
        os.makedirs(os.path.join(secret, "deep"))
        for name in names:
            self.file_with(os.path.join(secret, name.removeprefix("z").lstrip("/")), b"secret")
        job = self.job(batch_files=1, concurrency=1, rate_limit="4Mbit/s", retries=0)
        run = self.start("replicate", job)
        landed = [os.fsdecode(server.path("copy/0")) for server in (self.b, self.c)]
        wait_for(lambda: all(map(os.path.exists, landed)), "the first files", alive=run.running)
        self.run_job(job, "pause")
        wait_for(lambda: "paused" in run.stderr, "the pause", alive=run.running)
        os.rename(os.path.join(self.source, "z"), os.path.join(self.source, "y"))
        os.symlink("../elsewhere", os.path.join(self.source, "z"))
        for number in range(8):
            os.unlink(os.path.join(self.source, str(number)))
            os.symlink(f"../elsewhere/{number}", os.path.join(self.source, str(number)))
        self.run_job(job, "resume")
        self.assertEqual(run.wait(), FILE_FAILED, run.stdout + run.stderr)
        for server in (self.b, self.c):
            for where, _, files in os.walk(server.path("copy")):
                for name in files:
                    self.assertEqual(os.path.getsize(os.path.join(where, name)), 64 * KIB, name)

    def test_servers_among_themselves(self):
        self.tree()
        job = self.job(relay=True, batch_files=25)
        planned = self.run_job(job, "plan")
        self.assertEqual([os.listdir(server.root) for server in (self.b, self.c)], [[], []])
        for site in (self.b.url("copy"), self.c.url("copy")):
            names = [e["path"] for e in planned.events if e["event"] == "plan" and e["destination"] == site]
            self.assertEqual(names, sorted(names))
            self.assertEqual(len(names), 48)
        # That the servers met for it is no copy.
        for server in (self.a, self.b):
            self.assertEqual([e for e in self.client("copies", server.url()).events if e["event"] == "copy"], [])
        result = self.run_job(job)
        self.assertEqual((result.summary["files"], result.summary["verified"]), (2 * 43, 2 * 43), str(result))
        for server in (self.b, self.c):
            self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        # The first destination sent to the second.
        self.assertIn("begins for tester: put of /copy", self.b.stderr)
        self.assertEqual([e["event"] for e in self.run_job(job, "plan").events], ["planned"] * 2 + ["summary"])
        self.assertEqual(self.run_job(job).summary["files"], 0)
        os.chmod(os.path.join(self.source, "many/7"), 0o600)
        self.assertEqual([e["item"] for e in self.run_job(job, "plan").events if e["event"] == "plan"],
                         [".f...p....."] * 2)
        self.assertEqual(self.run_job(job).summary["bytes"], 0)
        for server in (self.b, self.c):
            self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))

    def test_killed_again_and_again(self):
        """What is done does not move again, whenever the conductor is killed."""
        for i in range(30):
            self.file_with(os.path.join(self.source, str(i)), self.random.randbytes(20 * KIB))
        self.file_with(os.path.join(self.source, "large"), self.random.randbytes(2 * MIB))
        job = self.job(batch_files=5, rate_limit="40Mbit/s")
        copies = [os.path.join(server.root, "copy") for server in (self.b, self.c)]
        seen = [{}, {}]
        for enough in (5, 20):
            conductor = self.start("replicate", job)
            wait_for(lambda: len(names_below(copies[0])) >= enough, f"{enough} files", alive=conductor.running)
            conductor.kill()
            for known, copy in zip(seen, copies):
                known.update({name: inode for name, inode in names_below(copy).items()})
        self.run_job(job, "run")
        for known, copy in zip(seen, copies):
            self.assertEqual(tree_of(copy), tree_of(self.source))
            now = names_below(copy)
            self.assertEqual({name for name in known if now[name] != known[name]}, set())
            self.assertEqual(parts_below(copy), [])

    def test_a_run_that_goes_on_asks_nobody_for_the_sources_password(self):
        for name in "abc":
            self.file_with(os.path.join(self.source, name), self.random.randbytes(MIB))
        job = self.job(source_password_file=None, batch_files=1, rate_limit="8Mbit/s")
        variable = "LAMBDA_FTP_SOURCE_PASSWORD"
        self.environment[variable] = PASSWORD
        conductor = self.start("replicate", job)
        wait_for(lambda: names_below(os.path.join(self.b.root, "copy")), "a file", alive=conductor.running)
        conductor.kill()
        del self.environment[variable]
        result = self.client("replicate", job, json=False)
        self.assertEqual(result.code, NO_SESSION, str(result))
        self.assertIn(f"nothing has the password of {USER} at 127.0.0.1:{self.a.port}", result.stderr)
        self.assertIn("source_password_file of the job", result.stderr)

    def test_servers_that_may_not_dial_each_other_are_given_up_at_once(self):
        d = self.server(root=self.folder("d-root"), state=self.folder("d-state"))
        os.makedirs(self.c.path("source"))
        for i in range(20):
            self.file_with(os.path.join(self.c.path("source"), str(i).encode()), b"x")
        job = self.job(sources=self.c.url("source/"), destinations=[d.url("one"), d.url("two")])
        result = self.client("replicate", job, json=False)
        self.assertEqual(result.code, NO_SESSION, str(result))
        for name in ("one", "two"):
            self.assertEqual(result.stderr.count(d.url(name) + ": given up: "), 1, str(result))
        self.assertIn("copy_hosts", result.stderr)
        self.assertLess(result.stderr.count("\n"), 12, str(result))
        self.assertEqual(os.listdir(d.root), [])
        planned = self.client("replicate", job, "plan")
        self.assertEqual(planned.code, NO_SESSION, str(planned))
        self.assertEqual([e["event"] for e in planned.events if e["event"] in ("planned", "unreached")],
                         ["planned", "unreached"] * 2)
        self.assertIn("copy_hosts", planned.stderr)

    def test_a_destination_that_dies_while_it_gets_a_file_is_cut(self):
        self.file_with(os.path.join(self.source, "large"), self.random.randbytes(8 * MIB))
        job = self.job(destinations=[self.b.url("copy")], rate_limit="20Mbit/s", patience="1s")
        run = self.start("replicate", job)
        self.wait_for_part(self.b.path("copy"), run, at_least=MIB)
        self.b.kill()
        self.assertEqual(run.wait(), CUT, run.stdout + run.stderr)
        self.b = self.server(root=self.b.root, state=self.b.state, listen=f"{self.b.host}:{self.b.port}",
                             settings={"copy_hosts": '["127.0.0.0/8"]'})
        self.run_job(job)
        self.assertEqual(tree_of(os.path.join(self.b.root, "copy")), tree_of(self.source))

    def test_a_listing_that_leads_out_ends_the_job(self):
        impostor = Impostor(self, self.a, [])
        into = self.folder("into")
        for name in ("../outside", "/outside", "..", "a/b"):
            impostor.replies["MLST"] = ["250-Listing", " type=dir; /tree", "250 End"]
            impostor.replies["MLSD"] = ["250-Listing", f" type=file;size=1;modify=20260101000000; {name}", "250 End"]
            with self.subTest(name=name):
                job = self.job(sources=impostor.url("tree/"), destinations=[into], patience="0s")
                result = self.client("replicate", job)
                self.assertNotEqual(result.code, DONE, str(result))
                self.assertIn("leads out of its directory", result.said())
        self.assertEqual(os.listdir(into), [])

    def test_what_a_server_says_moves_no_terminal(self):
        impostor = Impostor(self, self.a, [])
        impostor.replies["PASS"] = ["530 no\x1b[2J"]
        job = self.job(sources=impostor.url("tree/"), destinations=[self.folder("into")], patience="0s")
        self.assertEqual(self.client("replicate", job).code, NO_SESSION)
        status = self.client("replicate", job, "status", json=False)
        self.assertIn("\\x1b[2J", status.stdout, str(status))
        self.assertNotIn("\x1b", status.stdout + status.stderr)

    def test_what_fails_with_its_directory_is_not_done(self):
        self.tree()
        copy = os.path.join(self.b.root, "copy")
        os.makedirs(copy)
        if subprocess.run(["chattr", "+i", copy], capture_output=True).returncode != 0:
            self.skipTest("no immutable directory on this file system")
        job = self.job(destinations=[self.b.url("copy")], retries=0)
        try:
            result = self.run_job(job, code=FILE_FAILED)
        finally:
            subprocess.run(["chattr", "-i", copy], check=True)
        self.assertEqual(result.summary["files"], 0, str(result))
        told = {e["path"] for e in self.run_job(job, "status").events if e["event"] == "left_over"}
        self.assertLessEqual({f"many/{i}" for i in range(40)} | {"one/large", "zero"}, told)
        with open(result.summary["left_over"], "rb") as names:
            self.assertTrue(all(name.startswith(b"lambda://") for name in names.read().split(b"\0") if name))

    def test_what_no_line_has_room_for_fails_alone(self):
        """COPY has both paths: two of 2,100 bytes are too long for a line of 4,096."""
        self.tree()
        deep = os.path.join(self.source, *["d" * 209] * 10)
        os.makedirs(deep)
        self.file_with(os.path.join(deep, "x"), b"1")
        job = self.job(destinations=[self.b.url("copy")], retries=0)
        for moved in (43, 0):
            result = self.run_job(job, code=FILE_FAILED)
            self.assertEqual(result.summary["files"], moved, str(result))
            self.assertIn("too long", result.stderr)
            self.assertNotIn("grant=", result.said())
        self.assertEqual(os.readlink(os.path.join(self.b.root, "copy", "link [1]*")), "many/7")

    def test_a_directory_that_cannot_move_leaves_what_another_moved_done(self):
        """Files of two sources that land in one directory; of one of them no line has room."""
        deep = "/".join(["d" * 209] * 10)
        for folder, name in (("a/runs", "moves"), (f"{deep}/runs", "stays")):
            os.makedirs(os.path.join(self.source, folder))
            self.file_with(os.path.join(self.source, folder, name), b"1")
        os.makedirs(os.path.join(self.b.root, deep))
        job = self.job(sources=[self.a.url("source/a/"), self.a.url(f"source/{deep}/runs")],
                       destinations=[self.b.url(deep)], retries=0)
        result = self.run_job(job, code=FILE_FAILED)
        self.assertEqual(result.summary["files"], 1, str(result))
        self.assertIn("too long", result.stderr)
        told = {e["path"] for e in self.run_job(job, "status").events if e["event"] == "left_over"}
        self.assertIn("runs/stays", told)
        self.assertNotIn("runs/moves", told)

    def test_what_fails_says_at_which_server(self):
        self.file_with(os.path.join(self.source, "one"), b"1")
        job = self.job(destinations=[self.c.url("copy")], connect="destination", retries=0)
        result = self.run_job(job, code=NO_SESSION)
        self.assertIn("destination: ", result.stderr)
        self.assertIn("copy_hosts", result.stderr)
        wrong = self.secret("wrong", "not the password")
        self.assertIn("assword", self.run_job(self.job(source_password_file=wrong), code=NO_SESSION).stderr)


class Left(CopyCase):
    def under_way(self, a, b, line, rate):
        """A copy that is dialled again, of a client that reaches `b` by `line`."""
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", rate, "--retry-for", "1min", a.url("big"),
                            f"lambda://{USER}@127.0.0.1:{line.port}/big")
        self.wait_for_part(b.root, client, at_least=1 * MIB)
        return client

    def test_a_client_that_its_server_does_not_miss_comes_back(self):
        """Its session goes without a word, so that the first copy runs on beside the second try."""
        a, b = self.pair()
        line = Line(self, b)
        client = self.under_way(a, b, line, "20Mbit/s")
        line.lose()
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assertIn("trying again in", client.stderr)
        self.assertIn("copy 1: cut: the copy was cancelled", b.stderr)
        self.assert_same(a.path("big"), b.path("big"))

    def test_what_ended_while_the_client_was_away_is_not_moved_again(self):
        a, b = self.pair()
        line = Line(self, b)
        client = self.under_way(a, b, line, "50Mbit/s")
        line.whole = False
        line.lose()
        wait_for(lambda: "copy 1: ended" in b.stderr, "the end of the copy", alive=b.running)
        line.mend()
        result = Result(client)
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(result.summary["files"], 1, str(result))
        self.assertNotIn("copy 2", b.stderr)
        self.assert_same(a.path("big"), b.path("big"))

    def test_the_servers_come_back_to_each_other(self):
        """Detached with --retry-for: after a cut the one dials the other again, on the same grant."""
        a, b = self.pair()
        line = Line(self, a)
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        number = self.copy(f"lambda://{USER}@127.0.0.1:{line.port}/big", b.url("big"), "--detach", "--retry-for",
                           "1min", "--rate-limit", "50Mbit/s").events[0]["copy"]
        self.wait_for_part(b.root, b, at_least=4 * MIB)
        line.cut()
        wait_for(lambda: "trying again in" in b.stderr, "a retry", alive=b.running)
        line.mend()
        done = self.client("copies", b.url(), "--wait", str(number))
        self.assertEqual(done.code, DONE, str(done))
        self.assertEqual(done.summary["files"], 1)
        self.assert_same(a.path("big"), b.path("big"))
        self.assertEqual(a.stderr.count("granted to"), 1)
        self.assertGreaterEqual(a.stderr.count("presented by"), 2)

    def test_one_transfer_at_a_time(self):
        """Who presents a grant again, while a transfer of it runs, ends that one; and what is done is done."""
        a, b = self.pair()
        grant = Session(self, a).grant(self, f"direction=put;peer={fingerprint(b)};life=300;again=300;", "/in")
        xfer = f"XFER direction=put;{TERMS}nonce={'00' * 16}; /in"

        def presented():
            peer = Session(self, a, key_of=b, login=False)
            self.assertEqual(peer.ask(f"GRANT grant={grant};")[0], 230)
            return peer

        first, idle = presented(), presented()
        self.assertEqual(first.ask(xfer)[0], 150)
        self.assertEqual(idle.ask(xfer)[0], 450)
        self.assertEqual(first.ask("STAT")[0], 211)
        second = presented()
        code, lines = first.hear()
        self.assertEqual((code, "presented again" in "".join(lines)), (426, True), lines)
        self.assertEqual(second.ask(xfer)[0], 150)
        self.assertEqual(first.ask(xfer)[0], 530)
        # A session that goes without a word makes room as well.
        second.stream.close()
        second.file.close()
        wait_for(lambda: a.stderr.count("cut: ") == 2, "the end of its transfer", alive=a.running)
        self.assertEqual(idle.ask(xfer)[0], 150)
        self.assertEqual(idle.ask("ABOR")[0], 426)
        self.assertEqual(idle.hear()[0], 226)
        self.assertEqual(idle.ask(xfer)[0], 530)

    def test_the_client_is_killed_around_its_leave(self):
        """Once the client of a detached copy was told of it, it ends well; before, well or not at all."""
        a, b = self.pair(log_level="debug")
        begun = []
        for i in range(4):
            name = f"file{i}"
            self.file_with(a.path(name), self.random.randbytes(3 * MIB))
            granted, copies = a.stderr.count("granted to"), b.stderr.count(" begins for ")
            client = self.start("copy", *self.both(), "--detach", a.url(name), b.url(name))
            reached = (lambda: '"detached"' in client.stdout, lambda: a.stderr.count("granted to") > granted,
                       lambda: b.stderr.count(" begins for ") > copies)[i % 3]
            # Who has told its number, leaves: the line may be read later.
            wait_for(reached, ("its number", "its grant", "its copy")[i % 3],
                     alive=client.running if i % 3 else None)
            client.kill()
            begun += [] if i % 3 else [name]
        # Sessions of those killed are over.
        self.assertIn(" connected from ", b.stderr)
        wait_for(lambda: b.stderr.count("session") and all(
            f"{line.split('debug: ')[1].split(':')[0]}: ended" in b.stderr
            for line in b.stderr.splitlines() if " connected from " in line), "the end of all sessions", alive=b.running)
        listed = self.client("copies", b.url()).events
        copied = set()
        for copy in listed:
            if copy["event"] == "copy":
                code = self.client("copies", b.url(), "--wait", str(copy["copy"])).code
                self.assertIn(code, (DONE, CUT))
                copied |= {copy["path"][1:]} if code == DONE else set()
        self.assertGreaterEqual(copied, set(begun))
        self.assertEqual({name for name in os.listdir(b.root) if not name.startswith(".lambda-")}, copied)
        for name in copied:
            self.assert_same(a.path(name), b.path(name))
        self.assert_serving(b)
