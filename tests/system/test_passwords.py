"""Passwords that are typed, or come out of what can be read but once: a run asks and reads but once."""

import os
import socket
import subprocess

from copies import CopyCase
from harness import DONE, KIB, MIB, NO_SESSION, PASSWORD, Result
from typist import ASKED, Typist


class Passwords(CopyCase):
    def again(self, server, **settings):
        server.kill()
        return self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}",
                           settings=settings)

    def start_reading(self, *arguments):
        """A client whose password comes through a pipe."""
        client = self.start(*arguments, "--password-file", "/dev/stdin", password=False, stdin=subprocess.PIPE)
        client.child.stdin.write(PASSWORD.encode() + b"\n")
        client.child.stdin.close()
        return client

    def test_a_lost_session_asks_nobody_again(self):
        server = self.server()
        source = self.random_file("file", 16 * MIB)
        client = Typist(self, "put", "--rate-limit", "50Mbit/s", "--retry-for", "1min", source, server.url("typed"))
        client.answers(1)
        self.wait_for_part(server.root, client)
        server = self.again(server)
        self.assertEqual(client.wait(), DONE, client.said)
        self.assertEqual(client.said.count(ASKED), 1, client.said)
        self.assertIn("trying again", client.said)
        self.assert_same(source, server.path("typed"))

    def test_an_empty_line_is_no_password(self):
        server = self.server()
        source = self.random_file("file", KIB)
        for typed in (b"\n", b"\x04"):
            with self.subTest(typed):
                client = Typist(self, "put", source, server.url("typed"))
                client.answers(1, typed)
                self.assertEqual(client.wait(), NO_SESSION, client.said)
                self.assertIn("nothing was typed", client.said)

    def test_a_lost_session_reads_no_pipe_again(self):
        server = self.server()
        source = self.random_file("file", 16 * MIB)
        client = self.start_reading("put", "--rate-limit", "50Mbit/s", "--retry-for", "1min", source,
                                    server.url("read"))
        self.wait_for_part(server.root, client)
        server = self.again(server)
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assertIn("trying again", client.stderr)
        self.assert_same(source, server.path("read"))

    def test_a_copy_keeps_both(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        client = Typist(self, "copy", "--rate-limit", "50Mbit/s", "--retry-for", "1min", a.url("big"), b.url("big"))
        client.answers(1)
        client.answers(2)
        self.wait_for_part(b.root, client)
        self.again(b, copy_hosts='["127.0.0.0/8"]')
        self.assertEqual(client.wait(), DONE, client.said)
        self.assertEqual(client.said.count(ASKED), 2, client.said)
        self.assert_same(a.path("big"), b.path("big"))

    def test_all_sessions_of_a_job_have_what_a_pipe_held(self):
        """At each server of the job, side by side."""
        servers = [self.server(), self.server(root=self.folder("other"), state=self.folder("other-state"))]
        source = self.random_file("file", 100 * KIB)
        job = self.file_with(os.path.join(self.scratch, "job.yaml"), "\n".join([
            f"sources: {os.fsdecode(source)}", "state: job.db", "concurrency: 2",
            f"destinations: [{', '.join(server.url('to/') for server in servers)}]"]).encode())
        for server in servers:
            self.client("ping", server.url())
        client = self.start_reading("replicate", job)
        self.assertEqual(client.wait(), DONE, str(Result(client)))
        for server in servers:
            self.assert_same(source, server.path("to/file"))

    def test_the_first_session_of_a_copy_does_not_wait_for_the_second_password(self):
        settings = {"login_timeout": "5s"}
        a = self.server(root=self.folder("a"), state=self.folder("sa"), settings=settings)
        b = self.server(root=self.folder("b"), state=self.folder("sb"), settings={"copy_hosts": '["127.0.0.0/8"]'})
        self.file_with(a.path("one"), b"one")
        client = Typist(self, "copy", a.url("one"), b.url("one"))
        client.answers(1)
        while client.said.count(ASKED) < 2:
            self.assertTrue(client.hear(), client.said)
        # Whoever came now and says nothing has been sent away: so long does a login take at most.
        with socket.create_connection((a.host, a.port), timeout=60) as silent:
            while silent.recv(4096):
                pass
        client.answers(2)
        self.assertEqual(client.wait(), DONE, client.said)
