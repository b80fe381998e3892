"""A stranger on the machine: run as a program beside a transfer over lo.

usage: stranger.py CONTROL_PORT FIRST_DATA_PORT LAST_DATA_PORT

Listens to what passes, and sends 10,000 datagrams a second at every end of every flow that it has
seen: random ones, replayed ones and ones with a bit flipped, from its own address and with the
transfer's own addresses forged; and random bytes to the control port and over TCP to the data
ports. Prints "begun" once it has something to replay; ends with its standard input, and prints what
it did: a JSON object. For each of its own sockets `most_ratio` is the most bytes that had come back
for each byte sent, at any time.
"""

import json
import os
import random
import select
import socket
import struct
import sys
import time

OWN = "127.0.0.66"
VICTIM = "127.0.0.1"
RATE = 10_000
BATCH = 100
MOST_KEPT = 512

OWN_KINDS = ("random", "replayed", "flipped")
FORGED_KINDS = ("forged random", "forged replayed", "forged flipped")


class Stranger:
    def __init__(self, control_port, first, last):
        self.control_port, self.data_ports = control_port, range(first, last + 1)
        self.random = random.Random(control_port)
        self.sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.sniffer.bind(("lo", 0x0800))
        self.sniffer.setblocking(False)
        self.kept = []      # (source port, destination port, payload)
        self.flows = set()  # (client port, server port)
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.own = {kind: self.own_socket() for kind in OWN_KINDS}
        self.sent = dict.fromkeys(OWN_KINDS + FORGED_KINDS, 0)
        self.bytes_out = dict.fromkeys(OWN_KINDS, 0)
        self.bytes_in = dict.fromkeys(OWN_KINDS, 0)
        self.most_ratio = dict.fromkeys(OWN_KINDS, 0.0)
        self.connections, self.connected = [], 0

    def own_socket(self):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((OWN, 0))
        made.setblocking(False)
        return made

    def listen(self):
        """Keeps some of the transfer's own datagrams, early and late ones."""
        for _ in range(200):
            try:
                packet, where = self.sniffer.recvfrom(1 << 17)
            except BlockingIOError:
                return
            begin = (packet[0] & 15) * 4
            if where[2] == 4 or packet[9] != 17 or packet[12:20] != socket.inet_aton(VICTIM) * 2:
                continue
            source, destination = struct.unpack_from("!HH", packet, begin)
            if destination in self.data_ports:
                self.flows.add((source, destination))
            elif source in self.data_ports:
                self.flows.add((destination, source))
            else:
                continue
            one = (source, destination, packet[begin + 8:][:1472])
            if len(self.kept) < MOST_KEPT:
                self.kept.append(one)
            else:
                self.kept[self.random.randrange(MOST_KEPT)] = one

    def payload(self, kind):
        if kind.endswith("random"):
            content = bytearray(self.random.randbytes(self.random.randrange(1473)))
            if self.random.random() < 0.7 and len(content) > 16:  # looks like ours
                content[0] = 0x10 | self.random.randrange(1, 7)
                content[1] &= 1
                struct.pack_into("!H", content, 2, self.random.randrange(8))
            return bytes(content)
        content = bytearray(self.random.choice(self.kept)[2])
        if kind.endswith("flipped") and content:
            content[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
        return bytes(content)

    def strike(self):
        kind = self.random.choice(OWN_KINDS + FORGED_KINDS)
        client, server = self.random.choice(tuple(self.flows))
        content = self.payload(kind)
        try:
            if kind in OWN_KINDS:
                # The transfer's client takes nothing from others (its sockets may be connected).
                port = server if self.random.random() < 0.9 else client
                self.own[kind].sendto(content, (VICTIM, port))
                self.bytes_out[kind] += len(content)
            else:
                ends = (client, server) if self.random.random() < 0.5 else (server, client)
                self.raw.sendto(forged(ends, content), (VICTIM, 0))
            self.sent[kind] += 1
        except (BlockingIOError, ConnectionRefusedError):
            pass

    def collect(self):
        for kind, own in self.own.items():
            while True:
                try:
                    self.bytes_in[kind] += len(own.recv(65536))
                except ConnectionRefusedError:
                    continue
                except BlockingIOError:
                    break
            if self.bytes_out[kind]:
                self.most_ratio[kind] = max(self.most_ratio[kind], self.bytes_in[kind] / self.bytes_out[kind])

    def connect(self):
        """Another TCP connection, and random bytes on those that there are."""
        ports = [self.control_port] * 3 + [server for _, server in self.flows]
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.bind((OWN, 0))
        made.setblocking(False)
        made.connect_ex((VICTIM, self.random.choice(ports)))
        self.connections.append(made)
        if len(self.connections) > 40:
            self.connections.pop(0).close()
        beginnings = (b"", b"", b"\x16\x03\x01", b"AUTH TLS\r\n", b"AUTH TLS\r\n\x16\x03\x01\x02\x00", b"USER ")
        for one in self.connections:
            try:
                one.send(self.random.choice(beginnings) + self.random.randbytes(self.random.randrange(3000)))
                self.connected += 1
            except OSError:
                pass

    def run(self):
        due, begun = time.monotonic(), False
        while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
            self.listen()
            if len(self.kept) < 50:
                due = time.monotonic() + 0.001
                continue
            if not begun:
                print("begun", flush=True)
                begun, self.began = True, time.monotonic()
            for _ in range(BATCH):
                self.strike()
            self.collect()
            self.connect()
            due = max(due + BATCH / RATE, time.monotonic() - 0.5)
        self.collect()
        total = sum(self.sent.values())
        print(json.dumps({"sent": self.sent, "rate": total / (time.monotonic() - self.began) if begun else 0,
                          "bytes_out": self.bytes_out, "bytes_in": self.bytes_in, "most_ratio": self.most_ratio,
                          "flows": len(self.flows), "tcp_writes": self.connected}))


def forged(ends, content):
    """An IPv4 datagram from VICTIM to VICTIM; the kernel fills in its IP checksum."""
    address = socket.inet_aton(VICTIM)
    length = 8 + len(content)
    udp = struct.pack("!HHHH", *ends, length, 0)  # no checksum: allowed for IPv4
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, 17, 0) + address * 2 + udp + content


if __name__ == "__main__":
    Stranger(*map(int, sys.argv[1:4])).run()
    sys.stdout.flush()
    os._exit(0)
