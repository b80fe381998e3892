"""Movers of a fleet that die near the end, are cancelled, or have a wrong clock; a fleet whose sources are at a
server; and a state on a full disk."""

import json
import os
import signal
import subprocess

from disks import run
from fleet import FleetCase
from harness import (CUT, DONE, FILE_FAILED, KIB, MIB, NO_SESSION, Settings, need, need_isolation, need_program, parts_below,
                     support_program, wait_for)
from jobs import Jobs
from trees import names_below, tree_of


class FromAServer(FleetCase):
    """The sources are at a server; the movers share the file system of the destination, or conduct."""

    def setUp(self):
        super().setUp()
        self.far = self.server(root=self.folder("far"), state=self.folder("far-state"),
                               settings={"copy_hosts": '["127.0.0.0/8"]'})
        self.source = os.path.join(self.far.root, "source")
        os.mkdir(self.source)

    def wrong_clock(self, seconds):
        return ["env", f"LD_PRELOAD={support_program('wrong_clock.so')}", f"WRONG_CLOCK={seconds}"]

    def test_get_by_movers_with_wrong_clocks_of_whom_one_dies(self):
        """Leases are judged by the database's clock: nobody loses one who lives, and who dies is found out at once."""
        self.files(40, 8 * KIB, "small")
        self.random_file("0", 20 * MIB, "far/source/large")
        copy = os.path.join(self.scratch, "shared", "copy")
        job = self.job_from(self.far.url("source/"), [copy], state=self.postgres.uri, concurrency=1, lease="2s",
                            split_size="4MiB", batch_files=5, rate_limit="40Mbit/s")
        movers = self.begin_paused(job, 3, [self.wrong_clock(-600), self.wrong_clock(600)])
        killed, *others = movers
        self.assert_done(self.replicate(job, "resume"))
        running = lambda: all(mover.running() for mover in movers)
        for mover in movers:
            wait_for(lambda: self.leases(mover, "piece = 1"), "a range by each", alive=running)
        wait_for(lambda: self.leases(killed, "piece = 1 AND ended = 0"), "a range in hand", alive=running)
        killed.kill()
        for mover in others:
            self.assertEqual(mover.wait(), DONE, mover.stdout + mover.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(parts_below(copy), [])
        self.assertEqual(self.assert_one_at_a_time(), 5)
        status = self.status(job)
        self.assertEqual((status["state"], sum(mover["files"] for mover in status["movers"])), ("done", 41), status)
        for mover in others:  # a machine that stalls for longer than a lease costs one
            lost, had = len(self.leases(mover, "lost = 1")), len(self.leases(mover, "lost = 0"))
            self.assertLess(lost, had, "taken from one who lives")
        again = self.replicate(job)
        self.assertEqual((again.code, again.summary["files"]), (DONE, 0), str(again))

    def test_a_machine_without_the_library_of_the_database(self):
        need_isolation()
        known = subprocess.run([need_program("ldconfig"), "-p"], capture_output=True, text=True, check=True).stdout
        library = next(line.split()[-1] for line in known.splitlines() if "libpq.so.5 " in line)
        without = ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null "{library}" && exec "$@"', "sh"]
        self.files(1, KIB, "small")
        job = self.job_from(self.far.url("source/"), [self.folder("copy")], state=self.postgres.uri)
        result = self.client("replicate", job, launcher=without)
        self.assert_failed(result, NO_SESSION)
        self.assertIn("libpq", result.said())
        # Nothing else needs it.
        self.transfer("get", self.far.url("source/small/0"), self.folder("one"), launcher=without)

    def test_who_has_another_directory_at_the_same_place_puts_nothing_there(self):
        need_isolation()
        self.files(30, 8 * KIB, "small")
        self.random_file("0", 12 * MIB, "far/source/large")
        copy, private = self.folder("copy"), self.folder("private")
        job = self.job_from(self.far.url("source/"), [copy], state=self.postgres.uri, concurrency=1, lease="2s",
                            split_size="4MiB", batch_files=5, rate_limit="40Mbit/s")
        elsewhere = ["unshare", "--mount", "sh", "-c", f'mount --bind "{private}" "{copy}" && exec "$@"', "sh"]
        mover = self.begin_paused(job, 1)[0]
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: self.leases(mover, "lease.kind = 0"), "a load", alive=mover.running)
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: mover.stderr.count("paused") == 2, "the pause", alive=mover.running)
        wait_for(lambda: self.count("lease", "ended = 0") == 0, "all to be handed back", alive=mover.running)
        mover.signal(signal.SIGSTOP)
        other = self.start("replicate", job, launcher=elsewhere)
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: "mount the same file system there" in other.stderr, "its refusal", alive=other.running)
        mover.signal(signal.SIGCONT)
        self.assertEqual(mover.wait(), DONE, mover.stdout + mover.stderr)
        self.assertEqual(other.wait(), DONE, other.stdout + other.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(os.listdir(private), [])
        again = self.replicate(job)
        self.assertEqual((again.code, again.summary["files"]), (DONE, 0), str(again))
        self.assertEqual(tree_of(copy), tree_of(self.source))

    def test_from_server_to_server_by_movers_of_whom_one_dies(self):
        self.files(18, 64 * KIB)
        server = self.server()
        copy = os.path.join(server.root, "copy")
        job = self.job_from(self.far.url("source/"), [server.url("copy")], state=self.postgres.uri, concurrency=1,
                            lease="2s", batch_files=3, rate_limit="4Mbit/s",
                            source_password_file=self.client_password)
        killed, steady = self.begin_paused(job, 2)
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: self.leases(killed, "lease.files > 0"), "files by it", alive=killed.running)
        wait_for(lambda: self.leases(killed, "lease.kind = 0 AND ended = 0"), "work in hand", alive=killed.running)
        killed.kill()
        self.assertEqual(steady.wait(), DONE, steady.stdout + steady.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(parts_below(copy), [])


class Ends(FleetCase):
    def test_who_gives_up_beside_a_dead_mover_ends_the_run(self):
        """Who left what the other might have reached would leave a run that nobody ends."""
        self.files(5, KIB)
        server = self.server()
        gone = self.server(root=self.folder("gone"), state=self.folder("gone-state"))
        gone.kill()
        webhook, got = self.webhook()
        after = os.path.join(self.scratch, "after")
        job = self.shared_job([server.url("copy"), gone.url("copy")], webhook=webhook, patience="1s", lease="3s",
                              after=f"echo $LAMBDA_STATE $LAMBDA_EXIT_CODE >> {after}")
        killed, steady = self.begin_paused(job, 2)
        killed.kill()
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(steady.wait(), NO_SESSION, steady.stdout + steady.stderr)
        self.assertEqual(tree_of(os.path.join(server.root, "copy")), tree_of(self.source))
        self.assertEqual(self.status(job)["state"], "left over")
        self.assertEqual([summary["state"] for _, summary in got], ["left over"])
        with open(after) as file:
            self.assertEqual(file.read(), "left over 3\n")
        # Nor does anybody end well with what another gave up.
        mover, = self.begin_paused(job, 1)
        self.postgres.sql("UPDATE lambda_ftp.site SET state = 4, trouble = 'no way' WHERE number = 1 AND run = "
                          "(SELECT max(id) FROM lambda_ftp.run)")
        self.assert_done(self.replicate(job, "resume"))
        self.assertEqual(mover.wait(), CUT, mover.stdout + mover.stderr)
        self.assertIn("no way", mover.stderr)

    def test_pause_and_cancel_while_a_range_is_carried_and_where_all_are_dead(self):
        self.random_file("0", 12 * MIB, "source/large")
        server = self.server()
        copy = os.path.join(server.root, "copy")
        how = {"lease": "2s", "split_size": "4MiB"}
        job = self.shared_job([server.url("copy")], rate_limit="24Mbit/s", **how)
        mover, = self.begin_paused(job, 1)
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: self.leases(mover, "piece = 1 AND lease.bytes > 0"), "a range done", alive=mover.running)
        in_hand = lambda: self.leases(mover, "piece = 1 AND ended = 0")
        wait_for(in_hand, "a range in hand", alive=mover.running)
        self.assert_done(self.replicate(job, "pause"))
        wait_for(lambda: not in_hand(), "the pause", alive=mover.running)
        self.assert_done(self.replicate(job, "resume"))
        wait_for(in_hand, "a range in hand", alive=mover.running)
        self.assert_done(self.replicate(job, "cancel"))
        self.assertEqual(self.status(job)["state"], "cancelled")
        self.assertEqual(mover.wait(), CUT, mover.stdout + mover.stderr)
        self.assertEqual(names_below(copy), {})
        dead, = self.begin_paused(job, 1)
        dead.kill()
        self.assert_done(self.replicate(job, "cancel"))
        self.assertEqual(self.status(job)["state"], "cancelled")
        # Another run begins, on the same stage: what is done there does not move.
        result = self.replicate(self.shared_job([server.url("copy")], **how))
        self.assert_done(result)
        self.assertLess(result.summary["bytes"], 12 * MIB, str(result))
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(parts_below(copy), [])


class LongEnds(FleetCase):
    def setUp(self):
        need(Settings.long, "in virtual time among the unit tests; here: --long")
        super().setUp()

    def test_what_a_dead_mover_held_last_is_waited_for(self):
        """Nothing else is left to take while its lease lives."""
        self.files(2, KIB)
        self.random_file("0", 8 * MIB, "source/large")
        server = self.server()
        copy = os.path.join(server.root, "copy")
        webhook, got = self.webhook()
        job = self.shared_job([server.url("copy")], webhook=webhook, lease="3s", split_size="4MiB",
                              rate_limit="24Mbit/s")
        killed, steady = self.begin_paused(job, 2)
        self.assert_done(self.replicate(job, "resume"))
        wait_for(lambda: self.leases(killed, "piece = 1 AND ended = 0"), "a range in hand", alive=killed.running)
        killed.kill()
        self.assertEqual(steady.wait(), DONE, steady.stdout + steady.stderr)
        self.assertEqual(tree_of(copy), tree_of(self.source))
        self.assertEqual(parts_below(copy), [])
        self.assertEqual([summary["state"] for _, summary in got], ["done"])


class FullDisk(Jobs):
    def begin(self, **more):
        """A run whose state's disk is full after some files, and the other destinations of its job."""
        need_isolation()
        self.disk = self.folder("disk")
        run("mount", "-t", "tmpfs", "-o", "size=2m", "none", self.disk)
        self.addCleanup(run, "umount", "-l", self.disk)
        self.files(60, 16 * KIB)
        server = self.server()
        self.destination, self.copy = server.url("copy"), os.path.join(server.root, "copy")
        self.state, self.ballast = os.path.join(self.disk, "job.db"), os.path.join(self.disk, "ballast")
        destinations = [self.destination, *more.pop("besides", [])]
        job = self.job(destinations, state=self.state, batch_files=1, rate_limit="2Mbit/s", **more)
        mover = self.start("replicate", job)
        wait_for(lambda: len(names_below(self.copy)) >= 4, "the first files", alive=mover.running)
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4 * KIB))
            except OSError:
                pass
        return job, mover

    def test_what_is_known_is_told_where_the_state_fails(self):
        seen = os.path.join(self.scratch, "seen")
        webhook, got = self.webhook()
        _, mover = self.begin(besides=["lambda://127.0.0.1:1/copy"], patience="0s", concurrency=2, webhook=webhook,
                              after=f"echo $LAMBDA_RUN $LAMBDA_STATE $LAMBDA_EXIT_CODE >> {seen}")
        self.assertEqual(mover.wait(), NO_SESSION, mover.stdout + mover.stderr)
        self.assertIn("127.0.0.1:1/copy: given up", mover.stderr)
        self.assertIn("full", mover.stderr)
        summary = json.loads(mover.stdout.splitlines()[-1])
        self.assertGreaterEqual(summary["files"], 4 - 2, mover.stdout)  # two are in hand
        with open(seen) as file:
            self.assertEqual(file.read(), "1 running 3\n")
        self.assertEqual(got, [])

    def test_a_state_on_a_full_disk(self):
        """Said at once; what was done is known when there is room again."""
        job, mover = self.begin()
        self.assertEqual(mover.wait(), FILE_FAILED, mover.stdout + mover.stderr)
        self.assertIn("full", mover.stderr)
        had = names_below(self.copy)
        self.assertLess(len(had), 60)
        self.assert_failed(self.replicate(job), FILE_FAILED)
        os.unlink(self.ballast)
        result = self.replicate(self.job([self.destination], state=self.state))
        self.assert_done(result)
        self.assertIn("goes on with run 1", result.stderr)
        now = names_below(self.copy)
        self.assertEqual({name: now[name] for name in had}, had, "moved again")
        self.assertEqual(tree_of(self.copy), tree_of(self.source))
