"""lambda-ftp and lambda-ftpd on a path of the lab."""

import json
import os

from bench_parts.lab import Failed, shell
from bench_parts.place import own

PORT = 2811
PASSWORD = "only for this run"


class Ours:
    """A server's root and state, and the commands of both ends."""

    def __init__(self, arguments, folder):
        self.client, self.daemon = own("lambda-ftp", arguments), own("lambda-ftpd", arguments)
        self.root, self.state = os.path.join(folder, "root"), os.path.join(folder, "state")
        # What a client learns of hosts and paths is of this bench alone.
        self.home = os.path.join(folder, "home")
        for made in (self.root, self.state, self.home):
            os.makedirs(made, exist_ok=True)
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(PASSWORD + "\n")

    def server(self, *options):
        """As Lab.run() takes its servers."""
        return shell([self.daemon, "--listen", f"0.0.0.0:{PORT}", "--root", self.root, "--state", self.state, "--user",
                      "bench", "--password-file", self.password, "--log-level", "warning", *options]), f":{PORT}"

    def transfer(self, verb, sources, target, *options):
        """The client's line. The remote end's names are below the root."""
        def remote(name):
            return f"lambda://bench@$LAB_HOST_server/{name}"
        ends = [*sources, remote(target)] if verb == "put" else [*map(remote, sources), target]
        return shell(["env", f"HOME={self.home}", self.client, verb, "--json", "--trust-new-host", "--password-file", self.password, *options,
                      *ends])


def summary(text):
    """A client's last word."""
    lines = [line for line in text.splitlines() if line.startswith('{"event":"summary"')]
    if not lines:
        raise Failed(f"no summary: {text[-1500:]}")
    return json.loads(lines[-1])
