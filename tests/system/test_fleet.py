"""Movers that share a job by a queue in PostgreSQL."""

import os
import signal

from harness import CUT, DONE, KIB, NO_SESSION, wait_for
from postgres import Postgres
from test_replicate import Jobs, names_below, tree_of


class Fleet(Jobs):
    def setUp(self):
        super().setUp()
        self.postgres = Postgres(self)

    def shared_job(self, destinations, **more):
        return self.job(destinations, state=self.postgres.uri, concurrency=1, **more)

    def status(self, job):
        result = self.replicate(job, "status")
        self.assert_done(result)
        return result.events[0]

    def alive(self, job):
        return [mover for mover in self.status(job)["movers"] if mover["alive"]]

    def begin_paused(self, job, count):
        """So many movers, who all begin when the job is resumed."""
        self.assert_done(self.replicate(job, "pause"))
        movers = [self.start("replicate", job) for _ in range(count)]
        for mover in movers:
            wait_for(lambda: "paused" in mover.stderr, "a mover that waits", alive=mover.running)
        wait_for(lambda: len(self.alive(job)) == count, "all movers")
        return movers

    def test_two_movers_share_a_job(self):
        self.files(60, 64 * KIB, "many")
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
        self.assertEqual(sum(mover["files"] for mover in status["movers"]), 63, status)
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

    def test_nobody_answers(self):
        self.files(1, KIB)
        server = self.server()
        job = self.shared_job([server.url("copy")])
        self.postgres.stop()
        gone = self.replicate(job)
        self.assert_failed(gone, NO_SESSION)
        self.assertEqual(os.listdir(server.root), [])
