"""Where the ends of a run live: this machine over loopback, or two network namespaces joined by a veth pair."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess

from bench_parts.lab import Failed

CLONE_NEWNET, PR_SET_PDEATHSIG = 0x40000000, 1
LIBC = ctypes.CDLL(None, use_errno=True)
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
IP, ETHTOOL = shutil.which("ip", path=PATH), shutil.which("ethtool", path=PATH)
# What joins packets before the card, or behind it, or lets the card cut them; then whatever ethtool still says is on.
OFFLOADS = ("tso", "gso", "gro", "tx-udp-segmentation")


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Loopback:
    """This machine, as it is."""

    address = "127.0.0.1"

    def entered(self):
        """Sockets that are made within are of this host, and so are processes that are started."""
        return contextlib.nullcontext()

    def start(self, command, **how):
        """A process in this host, which ends with the bench, however that ends."""
        with self.entered():
            return subprocess.Popen(command, preexec_fn=die_with_parent, **how)

    def run(self, *command):
        """What it said; it must end well."""
        try:
            done = self.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PATH=PATH))
        except OSError as problem:
            raise Failed(f"{command[0]}: {problem.strerror}") from None
        out, errors = done.communicate()
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {errors.strip()}")
        return out

    def free_port(self):
        with self.entered(), socket.create_server((self.address, 0)) as listener:
            return listener.getsockname()[1]

    def answers(self, port):
        with contextlib.suppress(OSError), self.entered():
            socket.create_connection((self.address, port), 1).close()
            return True
        return False


LOOPBACK = Loopback()


class Namespace(Loopback):
    """A network namespace without a name: it goes when the bench and what it started there are gone."""

    def __init__(self, address):
        self.address, self.interface = address, "pair"
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        checked("unshare", LIBC.unshare(CLONE_NEWNET))
        self.descriptor = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        checked("setns", LIBC.setns(self.home, CLONE_NEWNET))

    @contextlib.contextmanager
    def entered(self):
        checked("setns", LIBC.setns(self.descriptor, CLONE_NEWNET))
        try:
            yield
        finally:
            checked("setns", LIBC.setns(self.home, CLONE_NEWNET))

    def cut_nothing(self):
        self.switch_off(OFFLOADS)
        self.switch_off([name for name, state in self.offloads().items() if state == "on"])

    def switch_off(self, names):
        if names:
            self.run(ETHTOOL, "-K", self.interface, *(word for name in names for word in (name, "off")))

    def offloads(self):
        """What ethtool says of everything that joins or cuts packets: name to on or off."""
        said = self.run(ETHTOOL, "-k", self.interface)
        features = (line.split(":") for line in said.splitlines()[1:])
        return {name.strip(): value.split()[0] for name, value in features
                if "segmentation" in name or "receive-offload" in name or "gro" in name or "gso" in name}

    def close(self):
        os.close(self.descriptor)
        os.close(self.home)


class Pair:
    """`client` and `server`, a veth pair of this MTU between them, all offloads of segments off at both ends."""

    def __init__(self, mtu):
        self.client, self.server = Namespace("10.94.0.1"), Namespace("10.94.0.2")
        try:
            far = f"/proc/{os.getpid()}/fd/{self.server.descriptor}"
            self.client.run(IP, "link", "add", "pair", "mtu", str(mtu), "type", "veth", "peer", "name", "pair", "mtu",
                            str(mtu), "netns", far)
            for host in (self.client, self.server):
                host.cut_nothing()
                host.run(IP, "addr", "add", host.address + "/24", "dev", host.interface)
                for interface in ("lo", host.interface):
                    host.run(IP, "link", "set", interface, "up")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def missing():
        """Why there can be none; None: there can."""
        if os.geteuid() != 0:
            return "needs root, to make namespaces"
        absent = [name for name, path in (("ip", IP), ("ethtool", ETHTOOL)) if not path]
        return f"not installed: {', '.join(absent)}" if absent else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.client.close()
        self.server.close()


def checked(what, result):
    if result != 0:
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")
