"""Replication jobs: runs that are cut, paused, watched and cancelled."""

import json
import os
import re
import signal
import socket
import stat
import time

from harness import CUT, DONE, FILE_FAILED, KIB, MIB, USAGE, USER, Result, Settings, wait_for
from jobs import Jobs
from trees import names_below, tree_of

NOBODY = 65534


class ReplicateCuts(Jobs):
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

    def test_what_is_done_is_not_left_over_any_more(self):
        self.files(1, KIB)
        left, missing = os.path.join(self.scratch, "left"), os.path.join(self.scratch, "gone")
        job = self.job_from(["source/", "gone"], [self.server().url("copy")])
        self.assertEqual(self.replicate(job, "--left-over", left).code, FILE_FAILED)
        self.assertGreater(os.stat(left).st_size, 0)
        self.file_with(missing, b"here")
        self.assertEqual(self.replicate(job, "--left-over", left).code, DONE)
        self.assertEqual(os.stat(left).st_size, 0)

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
