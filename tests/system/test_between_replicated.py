"""Replication jobs whose sources and destinations are at servers (docs/replication.md)."""

import json
import os
import subprocess

from copies import CopyCase
from harness import CUT, DONE, FILE_FAILED, KIB, MIB, NO_SESSION, PASSWORD, USER, parts_below, wait_for
from sessions import Impostor
from trees import names_below, tree_of


class Replicated(CopyCase):
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
                job = self.job(sources=impostor.url("tree/"), destinations=[into], patience="0s",
                               source_password_file=None)
                result = self.client("replicate", job)
                self.assertNotEqual(result.code, DONE, str(result))
                self.assertIn("leads out of its directory", result.said())
        self.assertEqual(os.listdir(into), [])

    def test_what_a_server_says_moves_no_terminal(self):
        impostor = Impostor(self, self.a, [])
        impostor.replies["PASS"] = ["530 no\x1b[2J"]
        job = self.job(sources=impostor.url("tree/"), destinations=[self.folder("into")], patience="0s",
                       source_password_file=None)
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
