"""The ceiling of a path: UDP packets from memory to nothing, by a program that does nothing else (raw_udp.c)."""

import json
import os
import shutil
import subprocess

from bench_parts.hosts import LOOPBACK
from bench_parts.lab import Failed

PORT = 5301
WAYS = ("single", "segment")
AROUND_S = 30


class RawUdp:
    """The program, built when it is first wanted."""

    missing = None if shutil.which("cc") else "not installed: cc"

    def __init__(self, folder):
        self.program = os.path.join(folder, "raw-udp")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "raw_udp.c")
        LOOPBACK.run("cc", "-O2", "-Wall", "-Werror", "-o", self.program, source)

    def receiver(self):
        return [self.program, "receive", str(PORT)]

    def sender(self, address, payload, seconds, way):
        return [self.program, "send", address, str(PORT), str(payload), f"{seconds:g}", way]

    def run(self, client, server, payload, seconds, way):
        """Between two hosts: Gbit/s of payload that arrived."""
        receiver = server.start(self.receiver(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        started = [receiver]
        try:
            receiver.stdout.readline()
            sender = client.start(self.sender(server.address, payload, seconds, way), stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
            started.append(sender)
            _, errors = sender.communicate(timeout=seconds + AROUND_S)
            if sender.returncode != 0:
                raise Failed(f"raw UDP, {way}: {errors.strip()}")
            return arrived(receiver.communicate(timeout=AROUND_S)[0])
        except subprocess.TimeoutExpired as problem:
            raise Failed(f"raw UDP, {way}: {problem}") from None
        finally:
            for end in started:
                end.kill()
                end.communicate()


def arrived(said):
    """Gbit/s, of what the receiver said at its end."""
    try:
        counted = json.loads(said.splitlines()[-1])
        return counted["bytes"] * 8 / counted["seconds"] / 1e9
    except (IndexError, ValueError, ZeroDivisionError):
        raise Failed(f"raw UDP: nothing arrived: {said}") from None
