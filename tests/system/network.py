"""Network namespaces with a bad path between them, and captures of what passes."""

import ctypes
import itertools
import json
import os
import select
import socket
import struct
import subprocess
import threading
import time

from harness import Process, need, need_isolation, need_program, support_program, wait_for

CLONE_NEWNET = 0x40000000
_count = itertools.count()


def ip(*arguments):
    subprocess.run([need_program("ip"), *arguments], check=True, stdout=subprocess.DEVNULL)


class inside:
    """with inside(network): sockets made by this thread are of that namespace."""

    def __init__(self, network):
        self.network = network

    def _enter(self, descriptor):
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    def __enter__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if self.network:
            there = os.open(f"/run/netns/{self.network}", os.O_RDONLY)
            self._enter(there)
            os.close(there)

    def __exit__(self, *problem):
        self._enter(self.home)
        os.close(self.home)


class UdpCounter:
    """The bytes of all UDP packets that came over loopback in our own namespace, IP's headers among them."""

    def __init__(self):
        need_isolation()
        self.nft = need_program("nft")
        made = subprocess.run([self.nft, "add table inet counted; add counter inet counted moved; "
                               "add chain inet counted in { type filter hook input priority 1; }; "
                               "add rule inet counted in iif lo meta l4proto udp counter name moved"],
                              capture_output=True)
        need(made.returncode == 0, f"nft cannot count here: {made.stderr.decode().strip()[:200]}")

    def bytes(self):
        told = subprocess.run([self.nft, "-j", "list", "counter", "inet", "counted", "moved"], check=True,
                              capture_output=True).stdout
        return next(each["counter"]["bytes"] for each in json.loads(told)["nftables"] if "counter" in each)


class Path:
    """Two namespaces, `left` (clients) and `right` (servers), and path_filter between them."""

    LEFT, RIGHT = "10.91.0.1", "10.91.0.2"
    LEFT6, RIGHT6 = "fd91::1", "fd91::2"

    def __init__(self, case, **impairments):
        need_isolation()
        need(os.path.exists("/dev/net/tun"), "no /dev/net/tun")
        program = support_program("path_filter")
        number = next(_count)
        self.left, self.right = (f"lambda{os.getpid()}-{number}{side}" for side in "lr")
        for network in (self.left, self.right):
            ip("netns", "add", network)
            case.addCleanup(ip, "netns", "del", network)
            ip("-n", network, "link", "set", "lo", "up")
        options = [word for name, value in impairments.items()
                   for word in ("--" + name.replace("_", "-"), str(value))]
        self.process = Process([program, "--left", self.left, "--right", self.right,
                                "--seed", str(case.random.randrange(1 << 32)), *options], stdin=subprocess.PIPE)
        case.addCleanup(self.process.kill)
        wait_for(lambda: self._lines() > 0, "the path", alive=self.process.running)
        for network, four, six in ((self.left, self.LEFT, self.LEFT6), (self.right, self.RIGHT, self.RIGHT6)):
            ip("-n", network, "addr", "add", four + "/24", "dev", "path0")
            ip("-n", network, "addr", "add", six + "/64", "dev", "path0", "nodad")
        self._asking = threading.Lock()

    def _lines(self):
        return self.process.stdout.count("\n")

    def tell(self, command):
        """One command to path_filter; its answer."""
        with self._asking:
            before = self._lines()
            self.process.child.stdin.write(command.encode() + b"\n")
            self.process.child.stdin.flush()
            wait_for(lambda: self._lines() > before, f"an answer to {command}", alive=self.process.running)
            answer = self.process.stdout.split("\n")[before]
        if answer.startswith("error"):
            raise AssertionError(answer)
        return answer

    def stats(self):
        return json.loads(self.tell("stats"))

    def connections(self):
        return json.loads(self.tell("connections"))

    def condemn(self, how, port, count):
        """how: cut-tcp or stall-tcp. Returns how many connections it struck."""
        return int(self.tell(f"{how} {port} {count}").split()[1])

    def wait_for_udp(self, direction, size, process):
        """Until this many bytes of UDP payload have gone left_to_right or right_to_left."""
        wait_for(lambda: self.stats()[direction]["udp_bytes"] >= size, f"{size} bytes {direction}",
                 alive=process.running)

    def wait_for_silence(self, process, seconds=2):
        """Until the path has swallowed packets for this long."""
        began = time.monotonic()
        wait_for(lambda: time.monotonic() - began > seconds, "the silence to pass", alive=process.running)
        dead = sum(count["dead"] for count in self.stats().values())
        if dead == 0:
            raise AssertionError("nobody tried to send")


class Datagram:
    """A captured transport payload with its ends."""
    __slots__ = ("protocol", "source", "destination", "flags", "payload")

    def __init__(self, protocol, source, destination, flags, payload):
        self.protocol, self.source, self.destination = protocol, source, destination
        self.flags, self.payload = flags, payload


def dissect(packet):
    """An IPv4 or IPv6 packet with UDP or TCP in it, or None."""
    if len(packet) < 28:
        return None
    if packet[0] >> 4 == 4:
        at, protocol, length = (packet[0] & 15) * 4, packet[9], struct.unpack_from("!H", packet, 2)[0]
        source, destination = socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])
    elif packet[0] >> 4 == 6:
        at, protocol, length = 40, packet[6], 40 + struct.unpack_from("!H", packet, 4)[0]
        source, destination = (socket.inet_ntop(socket.AF_INET6, packet[i:i + 16]) for i in (8, 24))
    else:
        return None
    # A segment that is still to be split by the card can be longer than the length field tells.
    packet = packet[:length] if length > at else packet
    if protocol not in (6, 17) or len(packet) < at + 8:
        return None
    ports = struct.unpack_from("!HH", packet, at)
    flags = packet[at + 13] if protocol == 6 else 0
    begin = at + (8 if protocol == 17 else (packet[at + 12] >> 4) * 4)
    return Datagram("udp" if protocol == 17 else "tcp", (source, ports[0]), (destination, ports[1]), flags,
                    packet[begin:])


class Capture:
    """Everything that one interface of a namespace carries, kept in memory."""

    SYN, ACK = 2, 16
    OUTGOING = 4

    def __init__(self, case, interface="lo", network=None, buffer=256 << 20):
        need_isolation()
        with inside(network):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, buffer)  # SO_RCVBUFFORCE
        self.socket.bind((interface, 3))
        self.packets = []
        self._stop = os.eventfd(0)
        self._thread = threading.Thread(target=self._gather, daemon=True)
        self._thread.start()
        self._ended = False
        case.addCleanup(self.end)

    def _gather(self):
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        poll.register(self._stop, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self.socket.fileno() in ready:
                packet, where = self.socket.recvfrom(1 << 17)
                # Each packet on lo is seen going out and coming in.
                if where[2] != self.OUTGOING:
                    self.packets.append(packet)
            elif self._stop in ready:
                return

    def end(self):
        """Stops once everything that was there is read; returns the datagrams. Fails if the kernel
        had to drop some, since then the capture proves nothing."""
        if self._ended:
            return None
        self._ended = True
        os.eventfd_write(self._stop, 1)
        self._thread.join()
        dropped = struct.unpack("II", self.socket.getsockopt(263, 6, 8))[1]  # PACKET_STATISTICS
        self.socket.close()
        os.close(self._stop)
        if dropped:
            raise AssertionError(f"the capture missed {dropped} packets")
        return [datagram for datagram in map(dissect, self.packets) if datagram]
