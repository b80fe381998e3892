"""Either end is killed or told to stop in mid-transfer."""

import array
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import termios
import threading

from harness import CUT, DONE, FILE_FAILED, MIB, NO_SESSION, Case, Result, Settings, wait_for
from sessions import TERMS, Impostor, ManyAtOnce, Session


class Talker(Impostor):
    """A server that answers this verb with `begin`, and then says `line` for ever."""

    def __init__(self, case, key_of, verb, begin, line):
        super().__init__(case, key_of, [])
        self.verb, self.begin, self.line, self.said = verb, begin, line, 0

    def answer(self, stream, line):
        if not line.startswith(self.verb.encode()):
            return super().answer(stream, line)
        # So that what is said is soon more than what waits between the two.
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        stream.sendall(self.begin.encode() + b"\r\n")
        while True:
            stream.sendall(self.line.encode() * 1000)
            self.said += 1


class EndlessAnswer(ManyAtOnce):
    """A server that agrees to a transfer, and whose answer to JOIN is a line without an end."""

    def __init__(self, case, key_of, agreed):
        super().__init__(case, key_of, [])
        self.replies |= {"XFER": [agreed], "ABOR": ["426 Ended", "226 Ended"]}

    def answer(self, stream, line):
        while line.startswith(b"JOIN"):
            stream.sendall(b"x" * 65536)
        return super().answer(stream, line)


class Interruptions(Case):
    SIZE = 24 * MIB
    SLOWLY = ("--rate-limit", "40Mbit/s")

    def put_under_way(self, server, name="file", how=SLOWLY):
        source = os.path.join(os.fsencode(self.folder("local")), os.fsencode(name))
        if not os.path.exists(source):
            self.random_file(name, self.SIZE)
        client = self.start("put", *how, source, server.url(name))
        self.wait_for_part(server.root, client, MIB)
        return source, client

    def get_under_way(self, server, name="file"):
        source = self.random_file(name, self.SIZE, folder="root")
        back = self.folder("back")
        client = self.start("get", *self.SLOWLY, server.url(name), back)
        self.wait_for_part(back, client, MIB)
        return source, os.path.join(os.fsencode(back), os.fsencode(name)), client

    def assert_cut(self, client):
        self.assertEqual(client.wait(), CUT, client.stdout + client.stderr)
        self.assertIn("summary", client.stdout.splitlines()[-1] if client.stdout else "")

    def again(self, server):
        return self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")

    def test_a_killed_server_under_put(self):
        server = self.server()
        source, client = self.put_under_way(server)
        server.kill()
        self.assert_cut(client)
        self.assertFalse(os.path.exists(server.path("file")))
        server = self.again(server)
        self.transfer("put", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        self.assertEqual(server.parts(), [])

    def test_another_key_is_not_dialled_again(self):
        server = self.server()
        _, client = self.put_under_way(server, how=(*self.SLOWLY, "--retry-for", "1h"))
        server.kill()
        self.server(root=server.root, state=self.folder("other-state"), listen=f"{server.host}:{server.port}")
        result = Result(client)
        self.assert_failed(result, CUT)
        self.assertIn("key", result.said())

    def test_a_killed_server_under_get(self):
        server = self.server()
        source, target, client = self.get_under_way(server)
        server.kill()
        self.assert_cut(client)
        self.assertFalse(os.path.exists(target))
        server = self.again(server)
        self.transfer("get", server.url("file"), self.folder("back"))
        self.assert_same(source, target)
        self.assertEqual(os.listdir(self.folder("back")), ["file"])

    def test_a_killed_client_under_put(self):
        server = self.server()
        source, client = self.put_under_way(server)
        client.kill()
        self.assertFalse(os.path.exists(server.path("file")))
        self.assert_serving(server)
        self.assertFalse(os.path.exists(server.path("file")))
        self.transfer("put", source, server.url("file"))
        self.assert_same(source, server.path("file"))

    def test_a_killed_client_under_get(self):
        server = self.server()
        source, target, client = self.get_under_way(server)
        client.kill()
        self.assertFalse(os.path.exists(target))
        self.assert_serving(server)
        self.transfer("get", server.url("file"), self.folder("back"))
        self.assert_same(source, target)

    def test_ctrl_c_under_put(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                server = self.server(root=self.folder(f"root-{number}"), state=self.folder(f"state-{number}"))
                _, client = self.put_under_way(server)
                client.signal(number)
                self.assert_cut(client)
                self.assertFalse(os.path.exists(server.path("file")))
                self.assert_serving(server)

    def test_a_server_that_never_stops_talking(self):
        """Its lines keep the client from hearing no signal."""
        server = self.server()
        agreed = (f"150 direction=get;{TERMS}nonce={'0' * 32};transfer=1;token={'0' * 32};ports=1;into=directory;")
        for verb, begin, line, command in (
                ("MLSD", "250-list", " type=file;size=1; x\r\n", ["ls"]),
                ("XFER", agreed, "100 still there\r\n", ["get", "--stripes", "2"])):
            with self.subTest(verb=verb):
                talker = Talker(self, server, verb, begin, line)
                places = [talker.url("x")] + ([self.folder("back")] if verb == "XFER" else [])
                client = self.start(*command, *places)
                wait_for(lambda: talker.said > 50, "a flood", alive=client.running)
                client.signal(signal.SIGTERM)
                self.assertEqual(client.wait(), CUT, client.stdout[-500:] + client.stderr)
                self.assertIn("interrupted", client.stderr)

    def test_an_answer_to_a_stripe_that_never_ends(self):
        server = self.server()
        agreed = (f"150 direction=get;{TERMS}nonce={'0' * 32};transfer=1;token={'0' * 32};ports=1;into=directory;")
        client = self.client("get", EndlessAnswer(self, server, agreed).url("x"), self.folder("back"))
        self.assertIn(client.code, (NO_SESSION, CUT), str(client))
        self.assertIn("the answer has no end", client.stderr)

    def test_a_feedback_connection_that_never_stops_talking(self):
        """It keeps its transfer from hearing neither ABOR nor the server's end."""
        server = self.server()
        state = struct.pack("!IIQ", 6 << 24 | 12, 1000, 0)
        for end in ("ABOR", "SIGTERM"):
            with self.subTest(end=end):
                control, link = Session(self, server), Session(self, server, login=False)
                code, lines = control.ask(f"XFER direction=put;{TERMS}nonce={'00' * 16}; /in".replace(
                    "stripes=2", "stripes=1"))
                self.assertEqual(code, 150, lines)
                token = re.search("token=([0-9a-f]+)", lines[0])[1]
                self.assertEqual(link.ask(f"JOIN token={token};stripe=0;epoch=1;")[0], 200)
                said = []

                def flood():
                    try:
                        while True:
                            link.stream.sendall(state * 8000)
                            said.append(1)
                    except OSError:  # its end, which the test waits for
                        pass
                flooding = threading.Thread(target=flood)
                flooding.start()
                wait_for(lambda: len(said) > 100, "a flood")
                if end == "ABOR":
                    self.assertEqual(control.ask("ABOR")[0], 426)
                else:
                    server.signal(signal.SIGTERM)
                    self.assertEqual(server.wait(), DONE)
                    self.assertNotIn("did not end in time", server.stderr)
                flooding.join(30)
                self.assertFalse(flooding.is_alive())

    def test_a_signal_that_comes_twice_at_once(self):
        server = self.server()
        _, client = self.put_under_way(server, how=(*self.SLOWLY, "--json"))
        client.signal(signal.SIGTERM)
        client.signal(signal.SIGTERM)
        self.assert_cut(client)

    def test_one_signal_ends_who_waits_for_a_reader(self):
        server = self.server()
        for number in range(5_000):
            self.file_with(server.path(f"{number:04}" + 60 * "x"), b"")
        command = [os.path.join(Settings.bin_dir, "lambda-ftp"), "ls", "--password-file", self.client_password,
                   "--trust-new-host", server.url()]
        for signalled in (False, True):
            with self.subTest(signalled=signalled):
                client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment)
                self.addCleanup(client.kill)

                def is_full():
                    waiting = array.array("i", [0])
                    fcntl.ioctl(client.stdout, termios.FIONREAD, waiting)
                    return waiting[0] > 40_000

                wait_for(is_full, "a full pipe", alive=lambda: client.poll() is None)
                if signalled:
                    client.send_signal(signal.SIGINT)
                    client.wait(20)
                said, words = client.communicate()
                lines = said.decode().splitlines()
                if signalled:
                    self.assertEqual(client.returncode, CUT, words)
                    self.assertIn(b"nobody reads stdout", words)
                    self.assertLess(len(lines), 5_000)
                else:
                    self.assertEqual(client.returncode, DONE, words)
                    self.assertEqual(len(lines), 5_000)

    def test_nohup_keeps_it(self):
        server = self.server()
        before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
        try:
            source, client = self.put_under_way(server, how=("--rate-limit", "200Mbit/s"))
            client.signal(signal.SIGHUP)
            self.assertEqual(client.wait(), DONE, client.stderr)
            self.assert_same(source, server.path("file"))
            _, client = self.put_under_way(server, name="other")
            client.signal(signal.SIGINT)  # as to what a script has in its background
            self.assert_cut(client)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def test_ctrl_c_under_get(self):
        server = self.server()
        _, target, client = self.get_under_way(server)
        client.signal(signal.SIGINT)
        self.assert_cut(client)
        self.assertFalse(os.path.exists(target))
        self.assert_serving(server)

    def test_a_server_that_is_told_to_stop(self):
        server = self.server()
        # Too slow for the time that running transfers are given to come to their end.
        _, client = self.put_under_way(server, how=("--rate-limit", "4Mbit/s"))
        server.signal(signal.SIGTERM)
        self.assert_cut(client)
        self.assertEqual(server.wait(), DONE, server.stderr)
        self.assertFalse(os.path.exists(server.path("file")))

    def test_a_server_that_is_told_to_stop_ends_what_is_nearly_done(self):
        server = self.server()
        source, client = self.put_under_way(server)
        server.signal(signal.SIGTERM)
        self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
        self.assertEqual(server.wait(), DONE, server.stderr)
        self.assert_same(source, server.path("file"))

    def test_an_idle_server_that_is_told_to_stop(self):
        server = self.server()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), DONE, server.stderr)

    def test_a_second_writer_is_refused(self):
        server = self.server()
        source, client = self.put_under_way(server)
        other = self.random_file("other", 1000)
        self.assert_failed(self.client("put", other, server.url("file")), FILE_FAILED)
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assert_same(source, server.path("file"))
