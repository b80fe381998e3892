"""A PostgreSQL server of a test's own: in its scratch folder, on a Unix socket alone."""

import glob
import os
import pwd
import signal
import subprocess

from harness import Process, need, need_program, wait_for


def programs():
    """The folder of the newest version's programs."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[-3]))
    need(found, "no PostgreSQL on this machine")
    return os.path.dirname(found[-1])


class Postgres:
    def __init__(self, case):
        self.case, self.bin = case, programs()
        self.folder = case.folder("postgres")
        self.launcher = []
        if os.geteuid() == 0:  # it refuses root
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                need(False, "no user postgres on this machine")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.launcher = [need_program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.data = os.path.join(self.folder, "data")
        made = subprocess.run([*self.launcher, f"{self.bin}/initdb", "-D", self.data, "-U", "tests", "-A", "trust",
                               "--no-sync", "-E", "UTF8", "--locale=C"], capture_output=True, text=True, cwd="/")
        case.assertEqual(made.returncode, 0, made.stderr)
        self.start()
        self.sql("CREATE DATABASE fleet", "postgres")
        self.uri = f"postgresql://tests@{self.folder.replace('/', '%2F')}/fleet"

    def start(self):
        self.server = Process([f"{self.bin}/postgres", "-D", self.data, "-k", self.folder, "-h", ""],
                              launcher=self.launcher, cwd="/")
        self.case.addCleanup(self.server.kill)
        self.case.addCleanup(self.stop)  # one that is killed leaves its shared memory to the machine
        wait_for(lambda: self.ask("SELECT 1", "postgres").returncode == 0, "PostgreSQL", alive=self.server.running)

    def stop(self):
        """Every connection is cut."""
        if not self.server.running():
            return
        self.server.signal(signal.SIGINT)
        self.server.wait()

    def ask(self, statement, database="fleet"):
        return subprocess.run([f"{self.bin}/psql", "-X", "-At", "-F", "|", "-h", self.folder, "-U", "tests", "-d",
                               database, "-c", statement], capture_output=True, text=True, cwd="/")

    def sql(self, statement, database="fleet"):
        """The rows, as lists of texts."""
        answer = self.ask(statement, database)
        self.case.assertEqual(answer.returncode, 0, answer.stderr)
        return [line.split("|") for line in answer.stdout.splitlines()]
