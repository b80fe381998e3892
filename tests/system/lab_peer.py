"""What the tests of lambda-lab run inside its hosts. usage: lab_peer.py MODE ARGUMENT..."""

import hashlib
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 7000


def bound(kind):
    """Takes IPv4 too. SO_REUSEADDR so that a test can follow a test."""
    one = socket.socket(socket.AF_INET6, kind)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("::", PORT))
    return one


def echo():
    """Gives each datagram back."""
    one = bound(socket.SOCK_DGRAM)
    print("ready", flush=True)
    while True:
        datagram, sender = one.recvfrom(65536)
        one.sendto(datagram, sender)


def round_trips(address, count):
    """Prints the round trips in seconds, a JSON list; those that were lost are left out."""
    one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    one.connect((address, PORT))
    one.settimeout(2)
    times = []
    for number in range(int(count)):
        began = time.monotonic()
        one.send(b"%08d" % number)
        try:
            one.recv(100)
            times.append(time.monotonic() - began)
        except TimeoutError:
            pass
    print(json.dumps(times))


def shower(address, count, size, pause):
    """Sends numbered datagrams."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.connect((address, PORT))
    for number in range(int(count)):
        one.send((b"%08d" % number).ljust(int(size), b"."))
        if float(pause):
            time.sleep(float(pause))


def gather(quiet):
    """Writes number and time of arrival of each datagram into $LAB_LOGS/gathered, a JSON list, once
    none came for `quiet` seconds; who reads the FIFO $LAB_LOGS/done is woken then."""
    one = bound(socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: all that come while we are late
    print("ready", flush=True)
    seen = []
    while select.select([one], [], [], float(quiet) if seen else 30)[0]:
        seen.append((int(one.recv(65536)[:8]), time.monotonic()))
    logs = os.environ["LAB_LOGS"]
    with open(os.path.join(logs, "gathered"), "w") as file:
        json.dump(seen, file)
    if os.path.exists(os.path.join(logs, "done")):
        open(os.path.join(logs, "done"), "w").close()


def serve(size, seed):
    """Sends so many bytes to each that connects by TCP."""
    content = random.Random(int(seed)).randbytes(int(size))
    one = bound(socket.SOCK_STREAM)
    one.listen()
    while True:
        peer, _ = one.accept()
        peer.sendall(content)
        peer.close()


def fetch(address, size, seed):
    """Takes them; prints how long that took and whether they are the ones."""
    began = time.monotonic()
    peer = socket.create_connection((address, PORT))
    digest = hashlib.sha256()
    while piece := peer.recv(1 << 16):
        digest.update(piece)
    took = time.monotonic() - began
    wanted = hashlib.sha256(random.Random(int(seed)).randbytes(int(size)))
    print(json.dumps({"seconds": took, "same": digest.digest() == wanted.digest()}))


def watch(file, *command):
    """Runs a command and writes what passed the host's card meanwhile, a JSON list of [seconds, sent by
    this host], by the kernel's clock. Ends as the command did."""
    every_protocol, timestamps_ns, most = 3, 35, 1 << 16
    card = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(every_protocol))
    card.bind(("lab0", every_protocol))
    card.setsockopt(socket.SOL_SOCKET, timestamps_ns, 1)
    card.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    code = subprocess.run(command, stdout=sys.stderr).returncode
    ended, seen = time.time(), []
    while select.select([card], [], [], 0)[0]:
        _, notes, _, sender = card.recvmsg(most, 64)
        when = [struct.unpack("ll", data) for _, kind, data in notes if kind == timestamps_ns][0]
        seen.append((when[0] + when[1] / 1e9, sender[2] == socket.PACKET_OUTGOING))
    with open(file, "w") as out:
        json.dump([one for one in seen if one[0] <= ended], out)
    sys.exit(code)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
