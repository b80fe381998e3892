"""What moves a file over loopback, or within the machine: we, and those we are compared with.

Each has a name, `verbs` that it knows, and run(verb, target), which brings `source` of the root to a file of the
root or to NOTHING, and gives a map: seconds, of the client's whole process; bytes; cpu, peak and, where there is a
server, server_cpu and server_peak. With `durable` it is on the disk by then. stop() ends its server.
"""

import os
import shutil

from bench_parts.hosts import LOOPBACK, PATH
from bench_parts.inetd import Inetd
from bench_parts.lab import Failed
from bench_parts.nginx import RunningNginx
from bench_parts.processes import Served, longest, timed
from bench_parts.rsync import Rsync

NOTHING = "/dev/null"
# Of the anonymous user, in clear. It refuses to serve as root.
GLOBUS_SERVER = ("globus-gridftp-server", "-aa", "-anonymous-user", "nobody", "-anonymous-group", "nogroup", "-c",
                 "/dev/null")
SSHD = """
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PasswordAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
"""
SSH_CIPHER = "aes128-gcm@openssh.com"


class Ours:
    """A Mover's transfers; durable by themselves."""

    name, verbs = "ours", ("put", "get")

    def __init__(self, mover, *options):
        self.mover, self.options = mover, options

    def run(self, verb, target, durable):
        if target == NOTHING:
            return getattr(self.mover, verb)(*self.options)
        return self.mover.move(verb, target, *self.options)

    def stop(self):
        pass


class Peer:
    needs, verbs = (), ("get",)

    def __init__(self, folder, source):
        self.folder, self.source = folder, source
        self.root, self.size = os.path.dirname(source), os.path.getsize(source)

    @classmethod
    def missing(cls):
        return [name for name in cls.needs if not shutil.which(name, path=PATH)]

    def run(self, verb, target, durable):
        command = self.command(verb, target)
        account = self.begin()
        done = timed(command, dict(os.environ, PATH=PATH, HOME=self.folder), longest(self.size),
                     flushed=target if durable else None)
        return done | {"bytes": self.size} | (account.cost() if account else {})

    def begin(self):
        """What counts the server's share of a run; None: there is no server."""

    def stop(self):
        pass


class OfNginx(Peer):
    clear = False

    def __init__(self, folder, source):
        super().__init__(folder, source)
        self.nginx = RunningNginx(folder, self.root, clear=self.clear)

    def begin(self):
        return Served(self.nginx.server)

    def stop(self):
        self.nginx.stop()


class Curl(OfNginx):
    name, needs = "curl HTTPS", ("nginx", "curl", "openssl")

    def command(self, _, target):
        return self.nginx.fetch(target)


class Aria2(OfNginx):
    """Four connections; space is not written before the bytes come."""

    name, needs = "aria2 -x4 HTTPS", ("nginx", "aria2c", "openssl")

    def command(self, _, target):
        return ["aria2c", "--quiet", "--no-conf", f"--ca-certificate={self.nginx.certificate}", "-x4", "-s4", "-k1M",
                "--file-allocation=none", "-d", os.path.dirname(target), "-o", os.path.basename(target),
                self.nginx.url("source")]


class Rclone(OfNginx):
    """HTTP in clear, by sendfile."""

    name, needs, clear = "rclone HTTP", ("nginx", "rclone"), True

    def command(self, _, target):
        return ["rclone", "copyto", "--config", "", "--http-url", self.nginx.url(), "--multi-thread-streams", "4",
                "--multi-thread-cutoff", "1M", ":http:source", target]


class Globus(Peer):
    """In clear: one stream in stream mode, or four parallel connections (mode E)."""

    verbs = ("put", "get")
    needs = ("globus-url-copy", "globus-gridftp-server")
    options = ()

    def __init__(self, folder, source):
        super().__init__(folder, source)
        self.server = Inetd([*GLOBUS_SERVER, "-i", "-data-interface", "127.0.0.1"],
                            os.path.join(folder, f"{self.name.replace(' ', '-')}.log"))

    def command(self, verb, target):
        far = f"ftp://127.0.0.1:{self.server.port}"
        ends = (f"file://{self.source}", far + target) if verb == "put" else (far + self.source, f"file://{target}")
        return ["globus-url-copy", "-q", *self.options, *ends]

    def begin(self):
        return self.server.begin()

    def stop(self):
        self.server.stop()


class Globus1(Globus):
    name = "globus 1"


class Globus4(Globus):
    name, options = "globus 4", ("-p", "4")


class RsyncDaemon(Peer):
    name, verbs, needs = "rsync", ("put", "get"), ("rsync",)

    def __init__(self, folder, source):
        super().__init__(folder, source)
        self.rsync = Rsync(folder, self.root)

    def command(self, verb, target):
        name = os.path.basename(target)
        return self.rsync.command(verb, self.source, name) if verb == "put" else self.rsync.command(
            verb, "source", target)

    def begin(self):
        return self.rsync.begin()

    def stop(self):
        self.rsync.stop()


class Scp(Peer):
    name, verbs, needs = "scp", ("put", "get"), ("scp", "sshd", "ssh-keygen")

    def __init__(self, folder, source):
        super().__init__(folder, source)
        self.home = os.path.join(folder, "ssh")
        os.mkdir(self.home)
        for key in ("host", "user"):
            LOOPBACK.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(self.home, key))
        with open(os.path.join(self.home, "config"), "w") as file:
            file.write(SSHD.format(folder=self.home))
        os.makedirs("/run/sshd", exist_ok=True)  # where sshd would have its empty folder
        self.server = Inetd([shutil.which("sshd", path=PATH), "-i", "-e", "-f", file.name],
                            os.path.join(folder, "sshd.log"))

    def command(self, verb, target):
        far = f"root@127.0.0.1:{target if verb == 'put' else self.source}"
        options = ("UserKnownHostsFile=/dev/null", "StrictHostKeyChecking=no", "LogLevel=ERROR",
                   f"Ciphers={SSH_CIPHER}", f"IdentityFile={self.home}/user")
        return ["scp", "-q", "-F", "none", *(word for option in options for word in ("-o", option)), "-P",
                str(self.server.port), *([self.source, far] if verb == "put" else [far, target])]

    def begin(self):
        return self.server.begin()

    def stop(self):
        self.server.stop()


class Cp(Peer):
    name, verbs, needs = "cp", ("copy",), ("cp",)

    def command(self, _, target):
        return ["cp", self.source, target]


class Dd(Peer):
    """Past the page cache at both ends: what the disk itself can do."""

    name, verbs, needs = "dd direct", ("copy",), ("dd",)

    def command(self, _, target):
        return ["dd", f"if={self.source}", f"of={target}", "bs=16M", "iflag=direct", "oflag=direct", "conv=fsync",
                "status=none"]


PEERS = {peer.name: peer for peer in (Curl, Aria2, Rclone, Globus1, Globus4, RsyncDaemon, Scp, Cp, Dd)}


def make_peers(names, folder, source, verdicts):
    """Those that are installed and start; the others are named."""
    made = []
    try:
        for name in names:
            if missing := PEERS[name].missing():
                verdicts.skipped(name, f"not installed: {', '.join(missing)}")
                continue
            try:
                made.append(PEERS[name](folder, source))
            except Failed as problem:
                verdicts.failed(name, problem)
    except BaseException:
        for peer in made:
            peer.stop()
        raise
    return made
