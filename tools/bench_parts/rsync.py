"""The rsync daemon, a process for each connection, as inetd starts it: so the machine counts what each
one spent."""

import os
import shutil
import socket
import subprocess
import threading

# Nothing to compare with stands at the target: --whole-file spares the search for it, --inplace the
# renames. Faster than without both, as measured.
OPTIONS = ("--archive", "--whole-file", "--inplace")
CONFIGURATION = """
use chroot = no
munge symlinks = no
reverse lookup = no
uid = {user}
gid = {group}
[files]
path = {root}
read only = no
"""


class Rsync:
    """A daemon that serves `root` as the module files, in a thread of its own."""

    missing = None if shutil.which("rsync") else "rsync"

    def __init__(self, folder, root):
        self.program = shutil.which("rsync")
        self.configuration = os.path.join(folder, "rsyncd.conf")
        with open(self.configuration, "w") as file:
            file.write(CONFIGURATION.format(root=root, user=os.geteuid(), group=os.getegid()))
        self.log = open(os.path.join(folder, "rsyncd.log"), "wb")
        self.spent = {"cpu": 0.0, "peak": 0.0}
        self.served = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                daemon = subprocess.Popen([self.program, "--daemon", f"--config={self.configuration}"],
                                          stdin=connection, stdout=connection, stderr=self.log)
            _, status, usage = os.wait4(daemon.pid, 0)
            daemon.returncode = os.waitstatus_to_exitcode(status)
            self.spent = {"cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 1024}
            self.served.set()

    def command(self, verb, source, target, *options):
        """What `source` holds, into `target`; the far one is named below the root."""
        def far(name):
            return f"rsync://127.0.0.1:{self.port}/files/{name}/"
        ends = [source + "/", far(target)] if verb == "put" else [far(source), target + "/"]
        return [self.program, *OPTIONS, *options, *ends]

    def begin(self):
        self.served.clear()

    def end(self):
        """What the server of the run that just ended spent: CPU seconds and peak MiB."""
        if not self.served.wait(60):
            raise SystemExit("bench: the rsync daemon did not end with its client")
        return self.spent

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        self.log.close()
