"""Movers that share a job by a queue in PostgreSQL."""

import os
import signal
import time

from fleet import FleetCase
from harness import CUT, DONE, GIB, KIB, MIB, NO_SESSION, Settings, parts_below, wait_for
from trees import names_below, tree_of


class Fleet(FleetCase):
    def test_two_movers_share_a_job(self):
        self.files(30, 64 * KIB, "many")
        self.files(3, KIB, "few")
        server = self.server()
        job = self.shared_job([server.url("copy")], batch_files=3, rate_limit="8Mbit/s")
        movers = self.begin_paused(job, 2)
        watch = self.start("replicate", job, "watch")
        self.assert_done(self.replicate(job, "resume"))
        for mover in movers:
            self.assertEqual(mover.wait(), DONE, mover.stdout + mover.stderr)
        self.assertEqual(watch.wait(), DONE, watch.stdout + watch.stderr)
        self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        status = self.status(job)
        self.assertEqual(status["state"], "done")
        self.assertEqual(sum(mover["files"] for mover in status["movers"]), 33, status)
        self.assertTrue(all(mover["files"] > 0 for mover in status["movers"]), status)
        self.assertEqual(len(status["movers"]), 2)
        self.assertEqual(len(self.replicate(job, "history").events), 2)
        again = self.replicate(job)
        self.assertEqual((again.code, again.summary["files"]), (DONE, 0), str(again))

    def test_who_leaves_and_who_is_wrong(self):
        self.files(40, 64 * KIB)
        server = self.server()
        job = self.shared_job([server.url("copy")], batch_files=4, rate_limit="8Mbit/s")
        copy = os.path.join(server.root, "copy")
        first, second = self.begin_paused(job, 2)
        with open(self.shared_job([server.url("elsewhere")], name="job")) as file:
            other = self.file_with(os.path.join(self.scratch, "other.yaml"), file.read().encode())
        refused = self.replicate(other)
        self.assertIn("others are at work", refused.said())
        job = self.shared_job([server.url("copy")], batch_files=4, rate_limit="8Mbit/s")
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: len(names_below(copy)) >= 4, "the first files", alive=first.running)
        first.signal(signal.SIGTERM)
        self.assertEqual(first.wait(), CUT, first.stdout + first.stderr)
        self.assertEqual(second.wait(), DONE, second.stdout + second.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))

    def test_killed_stopped_and_the_database_restarted(self):
        """One of three dies, one is stopped until others took over what it had, and the database
        goes away: each range and file is carried by one at a time, and nothing that is done again."""
        count, large, split, stop = (2000, 4 * GIB, "128MiB", 60) if Settings.long else (60, 64 * MIB, "4MiB", 0)
        self.files(count, 8 * KIB, "small")
        self.random_file("0", large, "source/large")
        server = self.server()
        copy = os.path.join(server.root, "copy")
        job = self.shared_job([server.url("copy")], split_size=split, batch_files=count // 12,
                              rate_limit="1Gbit/s" if Settings.long else "50Mbit/s",
                              lease="10s" if Settings.long else "2s")
        movers = self.begin_paused(job, 3)
        killed, stopped, steady = movers
        self.assert_done(self.replicate(job, "resume"))

        running = lambda: all(mover.running() for mover in movers)
        for mover in movers:
            wait_for(lambda: self.leases(mover, "piece = 1 AND lease.bytes > 0"), "a range by each", 600, alive=running)
        wait_for(lambda: self.leases(killed, "piece = 1 AND ended = 0"), "a range in hand", alive=running)
        killed.kill()
        wait_for(lambda: self.leases(stopped, "piece = 1 AND ended = 0"), "a range in hand", alive=stopped.running)
        stopped.signal(signal.SIGSTOP)
        began = time.monotonic()
        done = {name for name, in self.postgres.sql(
            "SELECT convert_from(name, 'UTF8') FROM lambda_ftp.task WHERE state = 3 AND piece != 1 AND kind = 0")}
        before = {name: inode for name, inode in names_below(copy).items() if name in done}
        wait_for(lambda: self.leases(stopped, "lost = 1"), "the stopped one's work is taken over", alive=steady.running)
        self.postgres.stop()
        self.postgres.start()
        wait_for(lambda: time.monotonic() - began >= stop, "a long stop", 2 * stop + 1)
        stopped.signal(signal.SIGCONT)
        for mover in (stopped, steady):
            self.assertEqual(mover.wait(600), DONE, mover.stdout + mover.stderr)
        self.assertIn("a lease was lost", stopped.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(parts_below(copy), [])
        after = names_below(copy)
        self.assertEqual({name: after[name] for name in before}, before, "moved again")
        self.assertEqual(self.assert_one_at_a_time(), large // (128 * MIB if Settings.long else 4 * MIB))
        again = self.replicate(job)
        self.assertEqual((again.code, again.summary["files"]), (DONE, 0), str(again))

    def test_a_cancel_is_heard_by_the_movers_and_told_once(self):
        self.files(2, KIB)
        server = self.server()
        webhook, got = self.webhook()
        job = self.shared_job([server.url("copy")], webhook=webhook)
        movers = self.begin_paused(job, 2)
        self.assert_done(self.replicate(job, "cancel"))
        for mover in movers:
            self.assertEqual(mover.wait(), CUT, mover.stdout + mover.stderr)
        self.assertEqual([summary["state"] for _, summary in got], ["cancelled"])
        self.assertEqual(self.status(job)["state"], "cancelled")

    def test_nobody_answers(self):
        self.files(1, KIB)
        server = self.server()
        self.postgres.uri = self.postgres.uri.replace("tests@", "tests:secret@")
        job = self.shared_job([server.url("copy")])
        self.postgres.stop()
        gone = self.replicate(job)
        self.assert_failed(gone, NO_SESSION)
        self.assertIn("has a password in it", gone.stderr)
        self.assertNotIn("secret", gone.stdout + gone.stderr)
        self.assertEqual(os.listdir(server.root), [])
