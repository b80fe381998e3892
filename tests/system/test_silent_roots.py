"""An account whose root is on a file system that does not answer: nobody else waits for it."""

import os
import signal

from disks import Silent
from harness import DONE, Case, wait_for


class SilentRoots(Case):
    WAITING = 6

    def setUp(self):
        super().setUp()
        state, self.dead = self.folder("state"), self.folder("dead")
        self.assertEqual(self.daemon_command("user", "add", "other", "--state", state, "--root", self.dead,
                                             "--password-file", self.client_password).wait(), DONE)
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
        os.rename(os.path.join(self.daemon.state, "accounts.yaml"), os.path.join(self.scratch, "away"))
        self.daemon.signal(signal.SIGHUP)
        wait_for(lambda: "accounts: 1, before: 2" in self.daemon.stderr, "another reload")
        self.assertIn("are not looked at: one of them has not answered", self.daemon.stderr)
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), DONE, self.daemon.stderr)
