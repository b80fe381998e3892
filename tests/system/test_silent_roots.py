"""Roots on a file system that does not answer: nobody else waits for it, and who wants it sleeps for no answer."""

import os
import signal

from disks import Silent, bound
from harness import DONE, MIB, Case, wait_for


class SilentRoots(Case):
    WAITING = 6

    def setUp(self):
        super().setUp()
        state, self.dead = self.folder("state"), self.folder("dead")
        self.assertEqual(self.daemon_command("user", "add", "other", "--state", state, "--root", self.dead,
                                             "--password-file", self.client_password).wait(), DONE)
        self.begin(state)

    def begin(self, state):
        self.daemon = self.server(state=state)
        self.silent = Silent(self, self.dead)

    def assert_prompt(self):
        for _ in range(3):
            self.assertEqual(self.client("ls", self.daemon.url(), seconds=20).code, DONE)

    def test_logins_and_commands_of_others(self):
        waiting = [self.start("ls", self.daemon.url(user="other")) for _ in range(self.WAITING)]
        wait_for(self.silent.asked, "the first to wait")
        self.assert_prompt()
        self.assertTrue(all(one.running() for one in waiting))
        self.silent.die()
        for one in waiting:
            self.assertNotEqual(one.wait(), DONE)
        self.assert_serving(self.daemon)

    def test_a_reload(self):
        self.daemon.signal(signal.SIGHUP)
        wait_for(self.silent.asked, "the look at the root")
        self.assert_prompt()
        wait_for(lambda: "log level reloaded" in self.daemon.stderr, "the reload")
        self.file_with(os.path.join(self.daemon.state, "accounts.yaml"), b"accounts:\n")
        self.daemon.signal(signal.SIGHUP)
        wait_for(lambda: "accounts: 1, before: 2" in self.daemon.stderr, "another reload")
        self.assertIn("are not looked at: one of them has not answered", self.daemon.stderr)
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), DONE, self.daemon.stderr)


    def test_an_end(self):
        waiting = self.start("ls", self.daemon.url(user="other"))
        wait_for(self.silent.asked, "who waits")
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 1, self.daemon.stderr)
        self.assertIn("did not end in time: what waits, for a file system that does not answer", self.daemon.stderr)
        self.silent.die()
        self.assertNotEqual(waiting.wait(), DONE)


class SilentBefore(SilentRoots):
    """One does not answer when the server starts, either."""
    test_an_end = None  # who waits would not be told from the look at the root

    def begin(self, state):
        self.silent = Silent(self, self.dead)
        self.daemon = self.server(state=state, settings={"log_level": "info"})
        wait_for(self.silent.asked, "the look at the root")


class Suspended(Case):
    """A file system that is another program (FUSE), which stands still for a while."""

    def setUp(self):
        super().setUp()
        self.behind, self.front = self.folder("behind"), self.folder("front")
        self.program = bound(self, self.behind, self.front)

    def waits_aside(self, server):
        """A worker of io_uring waits for the program, and none of the server's own threads has to."""
        tasks = f"/proc/{server.pid}/task"
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/comm") as comm, open(f"{tasks}/{task}/wchan") as where:
                    if comm.read().startswith("iou-wrk") and "request_wait" in where.read():
                        return True
            except OSError:
                pass
        return False

    def assert_waited_for(self, server, client):
        self.wait_for_part(self.behind, client, MIB)
        self.program.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: self.waits_aside(server), "a worker that waits", alive=client.running)
        finally:
            self.program.send_signal(signal.SIGCONT)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)

    def test_a_transfer_sleeps_for_no_answer(self):
        server = self.server(root=self.front)
        source = self.random_file("source", 24 * MIB)
        client = self.start("put", "--rate-limit", "40Mbit/s", source, server.url("file"))
        self.assert_waited_for(server, client)
        self.assert_same(source, os.path.join(self.behind, "file"))
