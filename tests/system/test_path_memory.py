"""A path that is known starts at half of what it carried (--initial-rate auto)."""

import re

from copies import CopyCase
from harness import DONE, MIB
from sessions import ManyAtOnce

UNKNOWN = 100_000_000  # bit/s


class Listening(ManyAtOnce):
    """In the place of a server that has stopped: what is offered to it, it refuses."""

    def __init__(self, case, server):
        self.offers = []
        super().__init__(case, server, [], port=server.port)

    def answer(self, stream, line):
        self.offers += re.findall(rb"XFER .*;initial=(\d+);", line)
        return super().answer(stream, line)


class PathMemory(CopyCase):
    def offered(self, listening, *arguments):
        self.assertNotEqual(self.client(*arguments).code, DONE)
        return int(listening.offers.pop())

    def test_a_transfer_starts_at_half_of_what_the_last_one_carried(self):
        server = self.server()
        source = self.random_file("file", 64 * MIB)
        there, back = server.url("file"), self.folder("back")
        self.transfer("put", "--rate-limit", "800Mbit/s", source, there)
        server.kill()
        listening = Listening(self, server)
        start = self.offered(listening, "put", source, there)
        self.assertGreater(start, UNKNOWN)
        self.assertLess(start, 450_000_000)
        self.assertEqual(self.offered(listening, "put", "--rate-limit", "120Mbit/s", source, there), 120_000_000)
        self.assertEqual(self.offered(listening, "put", "--initial-rate", "2Mbit/s", source, there), 2_000_000)
        # By the hour, too; and what is to be compared starts the same each time.
        hours = "00:00-12:00 130Mbit/s, 12:00-24:00 130Mbit/s"
        self.assertEqual(self.offered(listening, "put", "--rate-limit", hours, source, there), 130_000_000)
        for law in "fixed", "cubic", "background":
            self.assertEqual(self.offered(listening, "put", "--congestion", law, source, there), UNKNOWN)
        # The other direction is another path, and so is every other server.
        self.assertEqual(self.offered(listening, "get", there, back), UNKNOWN)

    def test_a_get_is_learnt_from_the_server_that_sends(self):
        server = self.server()
        self.random_file("file", 64 * MIB, folder="root")
        self.transfer("get", "--rate-limit", "800Mbit/s", server.url("file"), self.folder("back"))
        server.kill()
        start = self.offered(Listening(self, server), "get", server.url("file"), self.folder("again"))
        self.assertGreater(start, UNKNOWN)
        self.assertLess(start, 450_000_000)
