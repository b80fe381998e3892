"""Replication jobs: what a run plans, moves and says, and when."""

import os
import time

from harness import DONE, FILE_FAILED, KIB, MIB, NO_SESSION, USAGE, USER
from jobs import Jobs
from trees import names_below, tree_of
from typist import Typist


def clock(seconds):
    return time.strftime("%H:%M:%S", time.gmtime(seconds))


class Replicate(Jobs):
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

    def test_a_password_that_others_can_read_is_told_once(self):
        self.files(1, KIB)
        job = self.job([server.url("copy") for server in (self.server(), self.other_server())])
        self.assertNotIn("others can read it", self.replicate(job).stderr)
        os.chmod(self.client_password, 0o644)
        result = self.replicate(job)
        self.assert_done(result)
        self.assertEqual(result.stderr.count("holds a password and others can read it"), 1, str(result))

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

    def test_a_key_that_is_not_known_is_no_matter_of_patience(self):
        self.files(1, KIB)
        job = self.job([self.server().url("copy")])
        result = self.replicate(job, "--quiet", trust=False)
        self.assert_failed(result, NO_SESSION)
        self.assertIn(f"ping --trust-new-host lambda://{USER}@127.0.0.1:", result.stderr)

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
        mounted = os.path.join(self.scratch, "mounted")
        job = self.job([server.url("copy")], before=f"mkdir {mounted}")
        refused = self.replicate(job, "--left-over", os.path.join(mounted, "in", "left"))
        self.assert_failed(refused, USAGE)
        self.assertIn("the list of what is left over cannot be written", refused.said())
        self.assertEqual(os.listdir(server.root), [])
        os.rmdir(mounted)
        self.assert_done(self.replicate(job, "--left-over", os.path.join(mounted, "left")))
        self.files(2, KIB)
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
