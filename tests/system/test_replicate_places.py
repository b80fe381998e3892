"""Replication jobs: what stands at their sources and destinations, and links that were put there."""

import os
import signal

from harness import CUT, DONE, FILE_FAILED, KIB, MIB, wait_for
from jobs import Jobs
from trees import names_below, tree_of

NOBODY = 65534


class ReplicatePlaces(Jobs):
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
