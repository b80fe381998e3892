"""The rsync daemon and its client."""

import os
import shutil

from bench_parts.inetd import Inetd

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
    """A daemon that serves `root` as the module files."""

    missing = None if shutil.which("rsync") else "rsync"

    def __init__(self, folder, root):
        self.program = shutil.which("rsync")
        configuration = os.path.join(folder, "rsyncd.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(root=root, user=os.geteuid(), group=os.getegid()))
        self.daemon = Inetd([self.program, "--daemon", f"--config={configuration}"], os.path.join(folder, "rsyncd.log"))

    def command(self, verb, source, target, *options):
        """From `source` to `target`, of trees with a slash behind both; the far one is named below the root."""
        def far(name):
            return f"rsync://127.0.0.1:{self.daemon.port}/files/{name}"
        ends = [source, far(target)] if verb == "put" else [far(source), target]
        return [self.program, *OPTIONS, *options, *ends]

    def begin(self):
        return self.daemon.begin()

    def stop(self):
        self.daemon.stop()
