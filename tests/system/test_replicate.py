"""Replication jobs: runs that are planned, cut, paused, refused, and kept to hours."""

import json
import os
import re
import signal
import socket
import stat
import time

from harness import CUT, DONE, FILE_FAILED, KIB, MIB, NO_SESSION, USAGE, USER, Result, Settings, wait_for
from jobs import Jobs
from trees import names_below, tree_of
from typist import Typist

NOBODY = 65534


def clock(seconds):
    return time.strftime("%H:%M:%S", time.gmtime(seconds))


class Replicate(Jobs):
    def other_server(self, **how):
        return self.server(root=self.folder("other-root"), state=self.folder("other-state"), **how)

    def test_two_destinations_and_nothing_to_do(self):
        self.mixed_tree()
        servers = [self.server(), self.other_server()]
        job = self.job([server.url("copy") for server in servers], batch_files=7)
        before = self.replicate(job, "plan")
        self.assert_done(before)
        steps = [event for event in before.events if event["event"] == "plan"]
        self.assertIn(("<f+++++++++", "many/7", "not there"),
                      [(step["item"], step["path"], step["why"]) for step in steps])
        self.assertEqual([os.listdir(server.root) for server in servers], [[], []], "plan moved something")
        planned = [event for event in before.events if event["event"] == "planned"]
        self.assertEqual([(each["files"], each["created"], each["replaced"], each["adjusted"]) for each in planned],
                         [(42, len(steps) // 2, 0, 0)] * 2)
        self.assertIn(f"{len(steps) // 2} would be created, 0 replaced", self.replicate(job, "plan", json=False).stdout)
        result = self.replicate(job)
        self.assert_done(result)
        self.assertEqual(result.summary["files"], 2 * 42, str(result))
        self.assertEqual(result.summary["verified"], 2 * 42, str(result))
        for server in servers:
            self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        self.assertEqual([e["event"] for e in self.replicate(job, "plan").events], ["planned"] * 2 + ["summary"])
        words = self.replicate(job, "plan", json=False)
        self.assertEqual(words.stdout.count("nothing to do"), 2, str(words))
        again = self.replicate(job)
        self.assert_done(again)
        self.assertEqual(again.summary["files"], 0)
        history = self.replicate(job, "history").events
        self.assertEqual(len(history), 3)
        self.assertGreater(history[-2]["seconds"], 0)
        self.assertRegex(self.replicate(job, "history", json=False).stdout, r"in \d+\.\d (ms|s)\n")

    def assert_mode_follows(self, job, source, copy):
        inode = os.stat(copy).st_ino
        os.chmod(source, 0o640)
        steps = [event for event in self.replicate(job, "plan").events if event["event"] == "plan"]
        self.assertEqual([(step["item"], step["why"]) for step in steps], [(".f...p.....", "mode differs")])
        result = self.replicate(job)
        self.assert_done(result)
        self.assertEqual(result.summary["bytes"], 0, str(result))
        self.assertEqual((os.stat(copy).st_ino, os.stat(copy).st_mode & 0o7777), (inode, 0o640))
        self.assertEqual([e["event"] for e in self.replicate(job, "plan").events], ["planned", "summary"])
        self.assertIn("moved 1 file, 0 B;", self.replicate(job, "status", json=False).stdout)

    def test_a_mode_alone_moves_no_byte(self):
        self.mixed_tree()
        server = self.server()
        job = self.job([server.url("copy")], retries=0)
        self.assert_done(self.replicate(job))
        self.assert_mode_follows(job, os.path.join(self.source, "many/7"), os.path.join(server.root, "copy/many/7"))
        into = self.folder("into")
        job = self.job([into], sources=server.url("copy/"), retries=0)
        self.assert_done(self.replicate(job))
        self.assert_mode_follows(job, os.path.join(server.root, "copy/many/9"), os.path.join(into, "many/9"))

    def test_what_is_done_before_a_cut_is_known(self):
        """Also of a file that came out of its turn, below a directory."""
        # More than is read of it before the others are known.
        self.file_with(os.path.join(self.source, "large"), self.random.randbytes(64 * MIB))
        os.mkdir(os.path.join(self.source, "z"))
        for i in range(3):
            self.file_with(os.path.join(self.source, "z", str(i)), b"x")
        server = self.server()
        job = self.job([server.url("copy")], rate_limit="25Mbit/s")
        run = self.start("replicate", job)
        wait_for(lambda: "under way: 3 of 4 files" in self.replicate(job, "status", json=False).stdout, "three files",
                 alive=run.running)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait(), CUT, run.stderr)
        summary = json.loads(run.stdout.splitlines()[-1])
        self.assertEqual(summary["files"], 3, run.stdout)
        status = self.replicate(job, "status", json=False).stdout
        self.assertIn("moved 3 files, 3 B; to move 1 file, 64.00 MiB", status)

    def test_a_plan_tells_of_a_destination_that_is_down(self):
        self.files(1, KIB)
        server = self.server()
        down = f"lambda://{USER}@127.0.0.1:1/copy"
        job = self.job([down, server.url("copy")])
        told = self.replicate(job, "plan")
        self.assertEqual(told.code, NO_SESSION, str(told))
        self.assertEqual([e["destination"] for e in told.events if e["event"] in ("unreached", "planned")],
                         [down, server.url("copy")])
        words = self.replicate(job, "plan", json=False)
        lines = [line for line in words.stdout.splitlines() if line.startswith(down)]
        self.assertEqual(len(lines), 1, str(words))
        self.assertIn("nothing would move now: ", lines[0])
        self.assertIn("refused", lines[0])
        with open(job, "a") as file:
            file.write("patience: 200ms\n")
        ran = self.replicate(job, json=False)
        self.assertEqual(ran.code, NO_SESSION, str(ran))
        # With the second that tells of the tries to come.
        self.assertLessEqual(ran.stderr.count("refused"), 2, ran.stderr)
        self.assertIn(down + ": given up: ", ran.stderr)
        self.assertIn("refused", self.replicate(job, "status", json=False).stdout)

    def test_nobody_is_asked_for_a_password(self):
        self.files(1, KIB)
        servers = [self.server(), self.other_server()]
        job = self.job([server.url("copy") for server in servers], concurrency=2)
        for verb in ("plan", "run"):
            result = self.replicate(job, verb, password=False, json=False)
            self.assertEqual(result.code, NO_SESSION, str(result))
            for server in servers:
                self.assertIn(f"nothing has the password of {USER} at 127.0.0.1:{server.port}", result.stderr)
            self.assertIn("password_file of the job", result.stderr)
        self.assertEqual([os.listdir(server.root) for server in servers], [[], []])

    def test_what_changed_moves(self):
        self.files(5, KIB)
        server = self.server()
        job = self.job([server.url("copy")], exclude=["2", "*.tmp"])
        self.assert_done(self.replicate(job))
        self.assertNotIn("2", names_below(server.root + "/copy"))
        before = names_below(server.root + "/copy")
        self.file_with(os.path.join(self.source, "3"), b"longer than before" * KIB)
        self.file_with(os.path.join(self.source, "new.tmp"), b"")
        steps = [e for e in self.replicate(job, "plan").events if e["event"] == "plan" and e["path"] != "."]
        self.assertEqual([(step["path"], step["item"]) for step in steps], [("3", "<f.st......")])
        result = self.replicate(job)
        self.assertEqual((result.code, result.summary["files"]), (DONE, 1), str(result))
        after = names_below(server.root + "/copy")
        self.assertEqual({name for name in after if after[name] != before[name]}, {"3"})

    def test_from_a_server(self):
        self.mixed_tree()
        server = self.server(root=self.scratch)
        copies = [self.folder("a"), os.path.join(self.scratch, "b", "deep")]
        job = self.job_from(server.url("source/"), copies)
        self.assert_done(self.replicate(job))
        for copy in copies:
            self.assertEqual(tree_of(copy), tree_of(self.source))
        again = self.replicate(job)
        self.assertEqual((again.code, again.summary["files"]), (DONE, 0), str(again))

    def test_places_that_are_links_to_directories(self):
        self.mixed_tree()
        server = self.server()
        os.mkdir(os.path.join(server.root, "real"))
        os.symlink("real", os.path.join(server.root, "link"))
        self.assert_done(self.replicate(self.job([server.url("link")])))
        self.assertEqual(tree_of(os.path.join(server.root, "real")), tree_of(self.source))
        for source, name in (("link", "one/link"), ("link/", "two")):
            here = os.path.join(self.scratch, name.split("/")[0])
            os.symlink(self.folder("is-" + os.path.basename(here)), here)
            with self.subTest(source):
                self.assert_done(self.replicate(self.job_from(server.url(source), [here])))
                copy = os.path.realpath(os.path.join(self.scratch, name))
                self.assertEqual(tree_of(copy), tree_of(self.source))

    def test_killed_again_and_again(self):
        """Two destinations, of which one dies for a while and refuses some files; the conductor is
        killed on the way. What was done does not move again."""
        count, refused, kills = (20_000, 50, 20) if Settings.long else (240, 5, 4)
        self.files(count - refused, 8 * KIB, "open")
        self.files(refused, KIB, "sealed")
        good = self.server()
        user = NOBODY if os.geteuid() == 0 else None
        os.makedirs(os.path.join(self.scratch, "other-root", "copy", "sealed"))
        bad = self.other_server(user=user)
        os.chmod(os.path.join(bad.root, "copy"), 0o777)
        os.chmod(os.path.join(bad.root, "copy", "sealed"), 0o555)
        job = self.job([good.url("copy"), bad.url("copy")], batch_files=250 if Settings.long else 20, retries=4,
                       rate_limit="400Mbit/s" if Settings.long else "20Mbit/s")
        copies = [os.path.join(server.root, "copy") for server in (good, bad)]

        def standing():
            return [names_below(copy) for copy in copies]

        seen = [{}, {}]
        for kill in range(kills):
            run = self.start("replicate", job)
            goal = count * 2 * (kill + 1) // (kills + 2)
            wait_for(lambda: sum(map(len, standing())) >= goal, "files under way", 600, alive=run.running)
            if kill == kills // 2:
                bad.kill()
                wait_for(lambda: len(standing()[0]) >= count // 2, "the other goes on", 600, alive=run.running)
            run.kill()
            for known, now in zip(seen, standing()):
                known.update({name: inode for name, inode in now.items() if name not in known})
                self.assertEqual({name: now.get(name) for name in known}, known, "moved again")
            if kill == kills // 2:
                if Settings.long:
                    down = self.start("replicate", job)
                    time.sleep(60)  # the destination is dead for a minute
                    down.kill()
                bad = self.other_server(user=user, listen=f"{bad.host}:{bad.port}")
        result = self.replicate(job, seconds=600)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        for known, now in zip(seen, standing()):
            self.assertEqual({name: now.get(name) for name in known}, known, "moved again")
        self.assertEqual(tree_of(copies[0]), tree_of(self.source))
        want, got = tree_of(self.source + "/open"), tree_of(copies[1] + "/open")
        self.assertEqual(got, want)
        self.assertEqual(os.listdir(copies[1] + "/sealed"), [])
        left = {e["path"]: e["message"] for e in self.replicate(job, "status").events if e["event"] == "left_over"}
        sealed = {f"sealed/{i}" for i in range(refused)}
        self.assertEqual(set(left) - {"sealed", "."}, sealed)
        self.assertTrue(all("denied" in left[name] for name in sealed), left)
        with open(result.summary["left_over"], "rb") as file:
            listed = set(file.read().decode().split("\0")) - {""}
        self.assertLessEqual({f"{self.source}/{name}" for name in sealed}, listed)
        self.assertEqual({name for name in listed if "/open/" in name}, set())

    def test_pause_resume_watch_and_cancel(self):
        self.files(60, 32 * KIB)
        server = self.server()
        job = self.job([server.url("copy")], batch_files=4, rate_limit="8Mbit/s")
        copy = os.path.join(server.root, "copy")
        run = self.start("replicate", job)
        wait_for(lambda: len(names_below(copy)) >= 4, "the first files", alive=run.running)
        second = self.replicate(job)
        self.assert_failed(second, USAGE)
        self.assertIn("under way", second.said())
        watch = self.start("replicate", job, "watch")
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: "paused" in run.stderr, "the pause", alive=run.running)
        status = self.replicate(job, "status").events[0]
        self.assertTrue(status["paused"] and status["running"], status)
        self.assertEqual(status["state"], "running")
        self.assert_done(self.replicate(job, "resume"))
        had = len(names_below(copy))
        wait_for(lambda: len(names_below(copy)) > had, "more files", alive=run.running)
        self.assert_done(self.replicate(job, "cancel"))
        self.assertEqual(run.wait(), CUT, run.stdout + run.stderr)
        self.assertIn("the run was cancelled; the next one compares anew", run.stderr)
        self.assertEqual(watch.wait(), DONE, watch.stdout + watch.stderr)
        self.assertIn('"cancelled"', watch.stdout)
        self.assertEqual(self.replicate(job, "history").events[0]["state"], "cancelled")

    def test_a_run_tells_a_terminal_what_it_does(self):
        self.files(1, 3 * MIB)
        server = self.server()
        for name, words in ("told", []), ("quiet", ["--quiet"]):
            job = self.job([server.url(name)], rate_limit="8Mbit/s", state=name + ".db",
                           password_file=self.client_password)
            run = Typist(self, "replicate", job, *words)
            self.assertEqual(run.wait(), DONE, run.said)
            for shown in " of 1 files, ", "\x1b[K":
                self.assertEqual(shown in run.said, not words, run.said)
            self.assertEqual(tree_of(os.path.join(server.root, name)), tree_of(self.source))

    def test_a_link_that_took_a_place_on_the_way_is_not_followed(self):
        self.files(12, 32 * KIB, "many")
        self.files(1, 32 * KIB, "zone/small")
        self.files(1, 2 * MIB, "zone/large")
        server = self.server()
        job = self.job([server.url("copy")], batch_files=2, rate_limit="8Mbit/s", retries=0)
        copy = os.path.join(server.root, "copy")
        run = self.start("replicate", job)
        wait_for(lambda: len(names_below(copy)) >= 2, "the first files", alive=run.running)
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: "paused" in run.stderr, "the pause", alive=run.running)
        elsewhere = os.path.join(self.scratch, "elsewhere")
        os.rename(os.path.join(self.source, "zone"), elsewhere)
        os.symlink(elsewhere, os.path.join(self.source, "zone"))
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(run.wait(), FILE_FAILED, run.stdout + run.stderr)
        self.assertIn("a link took its place, or that of a directory that it is in", run.stdout + run.stderr)
        self.assertEqual({name for name in names_below(copy) if name.startswith("zone")}, set())

    def test_a_link_that_took_a_place_at_a_servers_source_is_not_followed(self):
        server = self.server()
        folders = [os.path.join(server.root, "data", f"d{i:02}") for i in range(16)]
        for folder in folders:
            os.makedirs(folder)
            self.file_with(os.path.join(folder, "file"), self.random.randbytes(128 * KIB))
        self.file_with(os.path.join(self.folder("root/elsewhere"), "file"), b"secret")
        copy = os.path.join(self.scratch, "copy")
        job = self.job_from(server.url("data/"), [copy], batch_files=1, concurrency=1, rate_limit="8Mbit/s", retries=0)
        run = self.start("replicate", job)
        wait_for(lambda: names_below(copy), "the first files", alive=run.running)
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: "paused" in run.stderr, "the pause", alive=run.running)
        os.rename(folders[-1], folders[-1] + "-away")
        os.symlink("../elsewhere", folders[-1])
        os.unlink(os.path.join(folders[-2], "file"))
        os.symlink("../../elsewhere/file", os.path.join(folders[-2], "file"))
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(run.wait(), FILE_FAILED, run.stdout + run.stderr)
        landed = [name for name in names_below(copy) if name.endswith("file")]
        self.assertEqual({os.path.getsize(os.path.join(copy, name)) for name in landed}, {128 * KIB})
        self.assertEqual(len(landed), 14)

    def test_a_link_that_was_put_below_the_destination_is_not_followed(self):
        server = self.server()
        folders = [f"d{i}" for i in range(16)]
        for name in folders:
            folder = self.folder(os.path.join("root/data", name))
            self.file_with(os.path.join(folder, "file"), self.random.randbytes(128 * KIB))
        self.assertTrue(os.path.samefile(os.path.dirname(folder), os.path.join(server.root, "data")))
        copy = self.folder("copy")
        named = os.path.join(self.scratch, "named")
        os.symlink(copy, named)
        job = self.job_from(server.url("data/"), [named], batch_files=1, concurrency=1, rate_limit="8Mbit/s", retries=0)
        run = self.start("replicate", job)
        wait_for(lambda: names_below(copy), "the first files", alive=run.running)
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: "paused" in run.stderr, "the pause", alive=run.running)
        elsewhere = self.folder("elsewhere")
        awaited = [name for name in folders if not os.path.exists(os.path.join(copy, name))]
        self.assertTrue(awaited)
        for name in awaited:
            os.symlink(elsewhere, os.path.join(copy, name))
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(run.wait(), FILE_FAILED, run.stdout + run.stderr)
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertIn("a link stands in its place", run.stdout + run.stderr)
        self.assertNotIn("/proc/", run.stdout + run.stderr)
        self.assertEqual(len(names_below(copy)), len(folders) - len(awaited))

    def test_what_a_destination_does_not_show_is_spared(self):
        self.files(1, KIB, "drop")
        drop = self.folder("other-root/copy/drop")
        file = os.path.join(drop, "0")
        server = self.other_server(user=NOBODY if os.geteuid() == 0 else None)
        self.addCleanup(os.chmod, drop, 0o755)
        for more in ({"which": "missing"}, {"conflict": "keep"}, {"conflict": "fail"}):
            with self.subTest(str(more)):
                self.file_with(file, b"newer")
                os.chmod(drop, 0o333)  # it may be written, and not listed
                job = self.job([server.url("copy")], retries=0, **more)
                self.assertNotIn("not there", self.replicate(job, "plan").stdout)
                result = self.replicate(job)
                self.assert_failed(result, FILE_FAILED)
                self.assertIn("what stands there cannot be seen", result.said())
                with open(file, "rb") as found:
                    self.assertEqual(found.read(), b"newer")
        self.replicate(self.job([server.url("copy")], retries=0))  # nothing is to be spared
        self.assert_same(os.path.join(self.source, "drop/0"), file)

    def test_an_interrupted_run_goes_on(self):
        self.files(60, 32 * KIB)
        server = self.server()
        job = self.job([server.url("copy")], batch_files=4, rate_limit="8Mbit/s")
        copy = os.path.join(server.root, "copy")
        run = self.start("replicate", job, json=False)
        wait_for(lambda: len(names_below(copy)) >= 8, "the first files", alive=run.running)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), CUT, run.stdout + run.stderr)
        had = names_below(copy)
        status = self.replicate(job, "status", json=False).stdout
        self.assertIn("cut; the next run goes on", status)
        self.assertEqual(self.replicate(job, "status").events[0]["state"], "cut")
        self.assertIn("/copy: cut, goes on with the next run; moved ", status)
        self.assertIn("/copy: cut, goes on with the next run; moved ", run.stderr)
        self.assertNotIn("moving", status)
        states = {event["status"]["state"] for event in self.replicate(job, "status").events
                  if event["event"] == "destination"}
        self.assertEqual(states, {"cut"})
        so_far = self.replicate(job, "history").events[0]
        self.assertGreaterEqual(so_far["files"], 4, so_far)
        self.assertGreaterEqual(so_far["bytes"], 4 * 32 * KIB, so_far)
        kept = [name for name in os.listdir(self.scratch) if name.startswith("job.db")]
        self.assertEqual({stat.S_IMODE(os.stat(os.path.join(self.scratch, name)).st_mode) for name in kept}, {0o600})
        result = self.replicate(job, json=False)
        self.assertEqual(result.code, DONE, str(result))
        self.assertIn("goes on with run 1", result.stderr)
        # Figures of the run beside those of this process, which moved the rest.
        self.assertRegex(result.stderr, r"/copy: done; moved 60 files, .* in the whole run; 0 files, 0 B stood there")
        self.assertLess(int(re.search(r"^(\d+) files? done", result.stderr, re.M).group(1)), 60)
        now = names_below(copy)
        self.assertEqual({name: now[name] for name in had}, had, "moved again")
        self.assertEqual(tree_of(copy), tree_of(self.source))

    def test_a_key_that_is_not_known_is_no_matter_of_patience(self):
        self.files(1, KIB)
        job = self.job([self.server().url("copy")])
        result = self.replicate(job, "--quiet", trust=False)
        self.assert_failed(result, NO_SESSION)
        self.assertIn(f"ping --trust-new-host lambda://{USER}@127.0.0.1:", result.stderr)

    def test_watched_before_it_begins(self):
        self.files(1, KIB)
        server = self.server()
        begun, go = (os.path.join(self.scratch, name) for name in ("begun", "go"))
        job = self.job([server.url("copy")], before=f"touch {begun}; read -r line <{go}")
        os.mkfifo(go)
        run = self.start("replicate", job)
        wait_for(lambda: os.path.exists(begun), "the command before", alive=run.running)
        cut, watch = (self.start("replicate", job, "watch") for _ in range(2))
        for each in (cut, watch):
            wait_for(lambda: '"never run"' in each.stdout, "a line of it", alive=each.running)
        cut.signal(signal.SIGTERM)
        self.assertEqual(cut.wait(), CUT, cut.stdout + cut.stderr)
        with open(go, "r+b", buffering=0) as word:  # waits for no reader
            word.write(b"go\n")
            self.assertEqual(run.wait(), DONE, run.stdout + run.stderr)
        self.assertEqual(watch.wait(), DONE, watch.stdout + watch.stderr)
        self.assertIn('"state":"done"', watch.stdout)

    def test_interrupted_where_no_session_stands(self):
        self.files(1, KIB)
        silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        for each in silent:
            self.addCleanup(each.close)
        places = [f"lambda://{USER}@127.0.0.1:{each.getsockname()[1]}/copy" for each in silent]
        before = self.replicate(self.job(places, before="kill -TERM $PPID; sleep 60"))
        self.assert_failed(before, CUT)
        plan = self.start("replicate", self.job(places), "plan")
        silent[0].settimeout(60)
        self.addCleanup(silent[0].accept()[0].close)
        plan.signal(signal.SIGTERM)
        self.assertEqual(plan.wait(), CUT, plan.stdout + plan.stderr)
        self.assertNotIn("unreached", plan.stdout)

    def test_a_command_that_fails_where_ends_of_children_are_ignored(self):
        self.files(1, KIB)
        job = self.job([self.server().url("copy")], before="exit 7")
        result = self.replicate(job, launcher=["env", "--ignore-signal=CHLD"])
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("ended with code 7", result.stderr)

    def test_a_password_file_on_the_command_line_comes_first(self):
        self.files(1, KIB)
        old = self.secret("old", "another one")
        self.assert_done(self.replicate(self.job([self.server().url("copy")], password_file=old)))

    def test_interrupted_before_anybody_answers(self):
        self.files(1, KIB)
        server = self.server()
        job = self.job([server.url("copy")])
        server.kill()
        run = self.start("replicate", job)
        wait_for(lambda: "trying again" in run.stderr, "a try in vain", alive=run.running)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), CUT, run.stdout + run.stderr)

    def test_a_lost_session_that_it_goes_on_after_is_a_cut(self):
        self.files(1, 8 * MIB)
        server = self.server()
        run = self.start("replicate", self.job([server.url("copy")], rate_limit="20Mbit/s"))
        self.wait_for_part(server.path("copy"), run, MIB)
        server.kill()
        self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")
        self.assertEqual(run.wait(), DONE, run.stdout + run.stderr)
        summary = Result(run).summary
        self.assertEqual(summary["cuts"], 1, run.stdout)
        self.assertGreater(sum(stripe["bytes"] for stripe in summary["stripes"]), 0, run.stdout)

    def test_a_source_that_is_gone(self):
        """It is left over and said, also by a run that goes on."""
        self.files(30, 32 * KIB)
        server = self.server()
        places = (["source/", "gone"], [server.url("copy")])
        copy = os.path.join(server.root, "copy")
        run = self.start("replicate", self.job_from(*places, batch_files=4, rate_limit="1Mbit/s"))
        wait_for(lambda: names_below(copy), "the first files", alive=run.running)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait(), CUT, run.stdout + run.stderr)
        job = self.job_from(*places)
        result = self.replicate(job)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        self.assertIn("goes on with run 1", result.stderr)
        self.assertEqual([e["path"] for e in result.events if e["event"] == "error"], [server.url("copy") + ": gone"])
        self.assertEqual(names_below(copy).keys(), names_below(self.source).keys())
        with open(result.summary["left_over"], "rb") as file:
            self.assertEqual(file.read(), os.fsencode(self.scratch) + b"/gone\0")
        status = self.replicate(job, "status").events
        self.assertEqual(status[0]["state"], "left over")
        self.assertEqual([e["path"] for e in status if e["event"] == "left_over"], ["gone"])
        self.assert_failed(self.replicate(job, "plan"), FILE_FAILED)

    def test_what_is_done_is_not_left_over_any_more(self):
        self.files(1, KIB)
        left, missing = os.path.join(self.scratch, "left"), os.path.join(self.scratch, "gone")
        job = self.job_from(["source/", "gone"], [self.server().url("copy")])
        self.assertEqual(self.replicate(job, "--left-over", left).code, FILE_FAILED)
        self.assertGreater(os.stat(left).st_size, 0)
        self.file_with(missing, b"here")
        self.assertEqual(self.replicate(job, "--left-over", left).code, DONE)
        self.assertEqual(os.stat(left).st_size, 0)

    def test_sources_that_overlap(self):
        """The first of two files keeps its place, and a second run has nothing to do."""
        other = self.folder("other/runs")
        self.files(2, KIB, "runs")
        for name in ("1", "2"):
            self.file_with(os.path.join(other, name), b"another")
        os.symlink("1", os.path.join(self.source, "runs", "2"))
        server = self.server()
        job = self.job_from(["source/", "other/runs"], [server.url("copy")])
        for files in (2, 0):
            result = self.replicate(job)
            self.assertEqual((result.code, result.summary["files"]), (FILE_FAILED, files), str(result))
            self.assertEqual(sorted(e["path"] for e in result.events if e["event"] == "error"),
                             [server.url("copy") + f": runs/{name}" for name in ("1", "2")])
            self.assertIn("would land where", result.said())
            self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        self.assertEqual([e["event"] for e in self.replicate(job, "plan").events],
                         ["error", "error", "planned", "summary"])

    def test_a_cancel_concerns_the_run_under_way(self):
        """Not the next one, where it comes when the run is over and its command still runs."""
        self.files(2, KIB)
        server = self.server()
        program = os.path.join(Settings.bin_dir, "lambda-ftp")
        seen = os.path.join(self.scratch, "seen")
        path = os.path.join(self.scratch, "job.yaml")
        job = self.job([server.url("copy")], after=f"{program} replicate {path} cancel 2>> {seen}")
        self.assert_done(self.replicate(job))
        self.files(1, 2 * KIB)
        self.assert_done(self.replicate(job))
        self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        with open(seen) as file:
            self.assertEqual(file.read().count("no run is under way"), 2)
        paused = self.replicate(job, "pause")
        self.assert_done(paused)
        self.assertIn("no run is under way; the next one waits", paused.stderr)
        self.assert_done(self.replicate(job, "cancel"))
        self.assertFalse(self.replicate(job, "status").events[0]["paused"])

    def test_a_pause_that_stands_is_told_even_quietly(self):
        self.files(3, 2 * KIB)
        server = self.server()
        job = self.job([server.url("copy")])
        self.assert_done(self.replicate(job, "pause"))
        status = self.replicate(job, "status").events[0]
        self.assertEqual((status["state"], status["paused"]), ("never run", True))
        self.assertIn("the pause of the next one is lifted", self.replicate(job, "cancel").stderr)
        self.assert_done(self.replicate(job, "pause"))
        self.assertIn("the pause is lifted", self.replicate(job, "resume").stderr)
        self.assert_done(self.replicate(job, "pause"))
        run = self.start("replicate", job, "--quiet", json=False)
        wait_for(lambda: "a pause from before holds it" in run.stderr, "the word", alive=run.running)
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(run.wait(), DONE, run.stderr)
        self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))

    def test_a_window_and_a_timetable(self):
        self.files(1, 16 * MIB)  # over two minutes at the first rate
        server = self.server()
        opens = int(time.time()) + 3
        quick = opens + 2
        job = self.job([server.url("copy")], windows=[f"{clock(opens)}-{clock(opens + 7200)}"],
                       rates=f"{clock(opens - 60)}-{clock(quick)} 1Mbit/s")
        result = self.replicate(job)
        self.assert_done(result)
        self.assertIn("waits for the window", result.stderr)
        self.assertGreaterEqual(os.stat(os.path.join(server.root, "copy")).st_ctime, opens)
        self.assertGreaterEqual(os.stat(os.path.join(server.root, "copy", "0")).st_ctime, quick)
        self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))

    def test_hooks(self):
        webhook, got = self.webhook()
        self.files(2, KIB)
        server = self.server()
        seen = os.path.join(self.scratch, "seen")
        job = self.job([server.url("copy")], before="exit 3")
        refused = self.replicate(job)
        self.assert_failed(refused, FILE_FAILED)
        self.assertIn("ended with code 3", refused.said())
        self.assertEqual(os.listdir(server.root), [])
        job = self.job([server.url("copy")], before=f"echo before > {seen}",
                       after=f"echo $LAMBDA_STATE $LAMBDA_EXIT_CODE >> {seen}",
                       webhook=webhook + "/done?x=1")
        self.assert_done(self.replicate(job))
        with open(seen) as file:
            self.assertEqual(file.read(), "before\ndone 0\n")
        self.assertEqual([path for path, _ in got], ["/done?x=1"])
        self.assertEqual((got[0][1]["state"], got[0][1]["files"]), ("done", 2))

    def test_what_is_wrong_is_said(self):
        for line, said in (("retrie: 3", "did you mean retries?"), ("windows: soon", "names no days"),
                           ("name: 'x' y", "not YAML")):
            job = self.job(["lambda://127.0.0.1:1/copy"])
            with open(job, "a") as file:
                file.write(line + "\n")
            result = self.replicate(job)
            self.assert_failed(result, USAGE)
            self.assertIn(said, result.said())
            self.assertRegex(result.said(), r"job\.yaml:\d+: ")
        job = self.job(["lambda://127.0.0.1:1/copy"], state="made/job.db")
        self.assert_failed(self.replicate(job, "start"), USAGE)
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "made")))
        job = self.job(["lambda://127.0.0.1:1/copy"], concurrency=12, patience="0s", state="wide.db")
        refused = self.replicate(job)
        self.assert_failed(refused, USAGE)
        self.assertIn("12 sessions at a time need 272.00 MiB of memory, and may have 256.00 MiB", refused.said())
        self.assertEqual(self.replicate(job, "--memory", "272MiB").code, NO_SESSION)
        none = self.replicate(os.path.join(self.scratch, "none.yaml"))
        self.assert_failed(none, USAGE)
        self.assertIn("cannot read the job", none.said())
        never = self.job(["lambda://127.0.0.1:1/copy"])
        self.assertIn("no run of job yet", self.replicate(never, "history", json=False).stderr)
        self.assertEqual([e["event"] for e in self.replicate(never, "history").events], ["summary"])
        gone = self.replicate(self.job(["lambda://127.0.0.1:1/copy"], patience="0s"))
        self.assertEqual(gone.code, 3, str(gone))
        with open(gone.summary["left_over"], "rb") as file:
            self.assertEqual(file.read(), os.fsencode(self.source) + b"/\0")
