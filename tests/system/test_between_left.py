"""Copies between servers that are left alone, by the client or by each other."""

import os

from copies import CopyCase, fingerprint
from harness import CUT, DONE, MIB, USER, Result, wait_for
from line import Line
from sessions import TERMS, Session


class Left(CopyCase):
    def under_way(self, a, b, line, rate):
        """A copy that is dialled again, of a client that reaches `b` by `line`."""
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", rate, "--retry-for", "1min", a.url("big"),
                            f"lambda://{USER}@127.0.0.1:{line.port}/big")
        self.wait_for_part(b.root, client, at_least=1 * MIB)
        return client

    def test_a_client_that_its_server_does_not_miss_comes_back(self):
        """Its session goes without a word, so that the first copy runs on beside the second try."""
        a, b = self.pair()
        line = Line(self, b)
        client = self.under_way(a, b, line, "20Mbit/s")
        line.lose()
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assertIn("trying again in", client.stderr)
        self.assertIn("copy 1: cut: the copy was cancelled", b.stderr)
        self.assert_same(a.path("big"), b.path("big"))

    def test_what_ended_while_the_client_was_away_is_not_moved_again(self):
        a, b = self.pair()
        line = Line(self, b)
        client = self.under_way(a, b, line, "50Mbit/s")
        line.whole = False
        line.lose()
        wait_for(lambda: "copy 1: ended" in b.stderr, "the end of the copy", alive=b.running)
        line.mend()
        result = Result(client)
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(result.summary["files"], 1, str(result))
        self.assertNotIn("copy 2", b.stderr)
        self.assert_same(a.path("big"), b.path("big"))

    def test_the_servers_come_back_to_each_other(self):
        """Detached with --retry-for: after a cut the one dials the other again, on the same grant."""
        a, b = self.pair()
        line = Line(self, a)
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        number = self.copy(f"lambda://{USER}@127.0.0.1:{line.port}/big", b.url("big"), "--detach", "--retry-for",
                           "1min", "--rate-limit", "50Mbit/s").events[0]["copy"]
        self.wait_for_part(b.root, b, at_least=4 * MIB)
        line.cut()
        wait_for(lambda: "trying again in" in b.stderr, "a retry", alive=b.running)
        line.mend()
        done = self.client("copies", b.url(), "--wait", str(number))
        self.assertEqual(done.code, DONE, str(done))
        self.assertEqual((done.summary["files"], done.summary["cuts"]), (1, 1))
        self.assert_same(a.path("big"), b.path("big"))
        self.assertEqual(a.stderr.count("granted to"), 1)
        self.assertGreaterEqual(a.stderr.count("presented by"), 2)

    def test_one_transfer_at_a_time(self):
        """Who presents a grant again, while a transfer of it runs, ends that one; and what is done is done."""
        a, b = self.pair()
        grant = Session(self, a).grant(self, f"direction=put;peer={fingerprint(b)};life=300;again=300;", "/in")
        xfer = f"XFER direction=put;{TERMS}nonce={'00' * 16}; /in"

        def presented():
            peer = Session(self, a, key_of=b, login=False)
            self.assertEqual(peer.ask(f"GRANT grant={grant};")[0], 230)
            return peer

        first, idle = presented(), presented()
        self.assertEqual(first.ask(xfer)[0], 150)
        self.assertEqual(idle.ask(xfer)[0], 450)
        self.assertEqual(first.ask("STAT")[0], 211)
        second = presented()
        code, lines = first.hear()
        self.assertEqual((code, "presented again" in "".join(lines)), (426, True), lines)
        self.assertEqual(second.ask(xfer)[0], 150)
        self.assertEqual(first.ask(xfer)[0], 530)
        # A session that goes without a word makes room as well.
        second.stream.close()
        second.file.close()
        wait_for(lambda: a.stderr.count("cut: ") == 2, "the end of its transfer", alive=a.running)
        self.assertEqual(idle.ask(xfer)[0], 150)
        self.assertEqual(idle.ask("ABOR")[0], 426)
        self.assertEqual(idle.hear()[0], 226)
        self.assertEqual(idle.ask(xfer)[0], 530)

    def test_the_client_is_killed_around_its_leave(self):
        """Once the client of a detached copy was told of it, it ends well; before, well or not at all."""
        a, b = self.pair(log_level="debug")
        begun = []
        for i in range(4):
            name = f"file{i}"
            self.file_with(a.path(name), self.random.randbytes(3 * MIB))
            granted, copies = a.stderr.count("granted to"), b.stderr.count(" begins for ")
            client = self.start("copy", *self.both(), "--detach", a.url(name), b.url(name))
            reached = (lambda: '"detached"' in client.stdout, lambda: a.stderr.count("granted to") > granted,
                       lambda: b.stderr.count(" begins for ") > copies)[i % 3]
            # Who has told its number, leaves: the line may be read later.
            wait_for(reached, ("its number", "its grant", "its copy")[i % 3],
                     alive=client.running if i % 3 else None)
            client.kill()
            begun += [] if i % 3 else [name]
        # Sessions of those killed are over.
        self.assertIn(" connected from ", b.stderr)
        wait_for(lambda: b.stderr.count("session") and all(
            f"{line.split('debug: ')[1].split(':')[0]}: ended" in b.stderr
            for line in b.stderr.splitlines() if " connected from " in line), "the end of all sessions", alive=b.running)
        listed = self.client("copies", b.url()).events
        copied = set()
        for copy in listed:
            if copy["event"] == "copy":
                code = self.client("copies", b.url(), "--wait", str(copy["copy"])).code
                self.assertIn(code, (DONE, CUT))
                copied |= {copy["path"][1:]} if code == DONE else set()
        self.assertGreaterEqual(copied, set(begun))
        self.assertEqual({name for name in os.listdir(b.root) if not name.startswith(".lambda-")}, copied)
        for name in copied:
            self.assert_same(a.path(name), b.path(name))
        self.assert_serving(b)
