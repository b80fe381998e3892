"""Somebody before a terminal."""

import os
import pty
import select

from harness import PASSWORD, Settings, patience

ASKED = "password of "


class Typist:
    """A client on a terminal of its own, with somebody before it."""

    def __init__(self, case, *arguments):
        program = os.path.join(Settings.bin_dir, "lambda-ftp")
        self.said = ""
        self.case = case
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(program, [program, *map(os.fsdecode, arguments), "--trust-new-host"], case.environment)
        case.addCleanup(self.leave)

    def hear(self, seconds=60):
        """What comes next; nothing at its end."""
        if not select.select([self.terminal], [], [], patience(seconds))[0]:
            self.case.fail(f"says nothing more: {self.said}")
        try:
            heard = os.read(self.terminal, 4096).decode()
        except OSError:
            heard = ""
        self.said += heard
        return heard

    def answers(self, count, typed=PASSWORD.encode() + b"\n"):
        """At the question of that number."""
        while self.said.count(ASKED) < count:
            self.case.assertTrue(self.hear(), self.said)
        os.write(self.terminal, typed)

    def running(self):
        while select.select([self.terminal], [], [], 0)[0]:
            if not self.hear():
                return False
        return True

    def wait(self):
        while self.hear():
            pass
        self.pid, status = -1, os.waitpid(self.pid, 0)[1]
        return os.waitstatus_to_exitcode(status)

    def leave(self):
        os.close(self.terminal)
        if self.pid > 0:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
