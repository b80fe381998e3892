"""Copies that two servers carry on without their client: how one begins, and how it goes on after a cut (docs/copy.md)."""

import itertools
import signal
import socket
import ssl
import threading

from copies import CopyCase, fingerprint
from harness import CUT, DONE, FILE_FAILED, MIB, NO_SESSION, USER, need_program, wait_for
from sessions import TERMS, Impostor, Session


class Agreeing(Impostor):
    """Agrees to each transfer that was granted, and is gone before anything moves."""

    def __init__(self, case, key_of, agreement):
        self.agreed = 0
        self.last_joined = 0  # of the connections, in their order
        self.joined = threading.Condition()
        super().__init__(case, key_of, [])
        self.replies |= {"GRANT": ["230 Granted"], "XFER": [f"150 {agreement}"]}

    def serve(self):
        try:
            for number in itertools.count(1):
                plain, _ = self.listener.accept()
                threading.Thread(target=self.speak, args=(plain, number), daemon=True).start()
        except OSError:
            pass  # the test is over

    def speak(self, plain, number):
        try:
            with self.encrypted(plain) as stream:
                for line in stream.makefile("rb"):
                    with self.joined:
                        if line.startswith(b"JOIN"):
                            self.last_joined = max(self.last_joined, number)
                            return self.joined.notify_all()
                        if self.answer(stream, line) == "XFER":
                            self.agreed += 1
                            # A stripe joins: the transfer is under way there.
                            self.joined.wait_for(lambda: self.last_joined > number, 60)
                            return
        except (OSError, ssl.SSLError):
            pass  # the other end has left


class Silent(Impostor):
    """Speaks to the first that comes, a client; the server that dials it hears nothing."""

    def serve(self):
        self.replies["MLST"] = ["250 There"]
        try:
            self.converse(self.listener.accept()[0])
        except OSError:
            pass  # the test is over


class Beginning(CopyCase):
    def test_the_source_dials_where_the_destination_cannot(self):
        a = self.server(root=self.folder("a"), state=self.folder("sa"), settings={"copy_hosts": '["127.0.0.1"]'})
        names = self.tree(a)
        for number, settings in enumerate(({}, {"copy_hosts": '["10.0.0.0/8"]'})):
            with self.subTest(settings=settings):
                b = self.server(root=self.folder(f"b{number}"), state=self.folder(f"sb{number}"), settings=settings)
                begun = self.copy(a.url("data"), b.url("new"), "--detach")
                self.assertIn("the source server does it", begun.stderr)
                done = self.client("copies", a.url(), "--wait", str(begun.events[0]["copy"]))
                self.assertEqual(done.code, DONE, str(done))
                self.assert_copied(names, a, b, to="new")
        for option in ("--wait", "--cancel"):
            nobody = self.client("copies", a.url(), option, "99")
            self.assert_failed(nobody, FILE_FAILED)
            self.assertIn("copy 99: There is no such copy", nobody.stderr)
            self.assertIn(f"`lambda-ftp copies {USER}@127.0.0.1:{a.port}`", nobody.stderr)

    def test_no_server_may_dial(self):
        a, b = (self.server(root=self.folder(side), state=self.folder("s" + side), settings=settings)
                for side, settings in (("a", {}), ("b", {"copy_hosts": '["10.0.0.0/8"]'})))
        self.tree(a)
        for retry in ((), ("--retry-for", "1min")):
            begun = self.copy(a.url("data"), b.url("new"), "--detach", *retry, code=NO_SESSION)
            self.assertIn("may not be dialled", begun.stderr)
            self.assertNotIn("goes on by itself", begun.stderr)
        self.assertEqual(self.marks(), [])

    def test_it_ends_with_its_client_until_both_have_agreed(self):
        _, b = self.pair()
        silent = Silent(self, b, [])
        client = self.start("copy", *self.both(), "--detach", silent.url("one"), b.url("one"))
        wait_for(lambda: "copy 1: begins for" in b.stderr, "the copy", alive=client.running)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        wait_for(lambda: "copy 1: cut: the copy was cancelled" in b.stderr, "the end of the copy", alive=b.running)
        self.assert_serving(b)


class AfterACut(CopyCase):
    def setUp(self):
        super().setUp()
        need_program("openssl")
        self.a, self.b = self.pair(transfers_max=1)
        self.key = fingerprint(self.a)
        self.file_with(self.a.path("one"), b"the one that is granted")
        grant = Session(self, self.a).grant(self, f"direction=get;peer={fingerprint(self.b)};life=60;", "/one")
        peer = Session(self, self.a, key_of=self.b, login=False)
        self.assertEqual(peer.ask(f"GRANT grant={grant};")[0], 230)
        code, lines = peer.ask(f"XFER direction=get;{TERMS}nonce={'00' * 16};")
        self.assertEqual(code, 150, lines)
        peer.stream.close()
        self.impostor = Agreeing(self, self.a, lines[0])
        self.target = Session(self, self.b)

    def request(self, seconds, more=""):
        return (f"COPY direction=get;{TERMS}host=127.0.0.1;port={self.impostor.port};peer={self.key};"
                f"grant={'00' * 16};there=/one;again={seconds};{more} /copied")

    def test_it_ends_with_the_account_that_began_it(self):
        self.assertEqual(self.target.last(self.request(600, "detach=1;"))[0], 250)
        wait_for(lambda: "trying again in" in self.b.stderr, "a pause", alive=self.b.running)
        self.secret("server-password", "another one")
        self.b.signal(signal.SIGHUP)
        wait_for(lambda: "copy 1: cut: the account that began this copy is no more" in self.b.stderr, "its end",
                 alive=self.b.running)
        # Who had logged in before begins no other.
        code, lines = self.target.hear()
        self.assertEqual((code, "log in again" in lines[0]), (421, True), lines)

    def test_sessions_that_move_nothing_end(self):
        self.assertEqual(self.target.ask(self.request(1))[0], 150)
        wait_for(lambda: "copy 1: cut: " in self.b.stderr, "its end", alive=self.b.running)
        code, lines = self.target.last("NOOP")
        self.assertEqual(code, 426, lines)
        self.assertGreater(self.impostor.agreed, 1)
        self.assertEqual(self.target.hear()[0], 200)

    def test_others_have_its_share_while_it_waits(self):
        self.assertEqual(self.target.ask(self.request(600))[0], 150)
        wait_for(lambda: "trying again in" in self.b.stderr, "a pause", alive=self.b.running)
        source = self.random_file("source", 1 * MIB)
        wait_for(lambda: self.client("put", source, self.b.url("put")).code == DONE, "a put, in one of its pauses")
        # It goes on, also after tries for which there was no room.
        agreed = self.impostor.agreed
        wait_for(lambda: self.impostor.agreed > agreed, "another try", alive=self.b.running)
        # A server that stops waits for no pause.
        self.b.signal(signal.SIGTERM)
        self.assertEqual(self.b.wait(), 0, self.b.stderr)


class Many(CopyCase):
    def test_the_last_that_ended_are_kept_whenever_they_began(self):
        need_program("openssl")
        self.assertEqual(self.daemon_command("user", "add", "other", "--state", self.folder("b-state"), "--root",
                                             self.folder("b-root"), "--password-file", self.client_password).wait(),
                         DONE)
        a, b = self.pair()
        self.file_with(a.path("one"), self.random.randbytes(4 * MIB))
        request = (f"COPY direction=get;{TERMS}host=10.0.0.1;port={a.port};peer={fingerprint(a)};grant={'00' * 16};"
                   "there=/one; /copied")  # of a host that may not be dialled
        other, session = Session(self, b, user="other"), Session(self, b)
        self.assertEqual(other.last(request)[0], 425)  # copy 1
        begun = self.copy(a.url("one"), b.url("one"), "--detach", "--rate-limit", "100kbit/s")
        self.assertEqual(begun.events[0]["copy"], 2)
        for _ in range(65):
            self.assertEqual(session.last(request)[0], 425)
        self.assertEqual(session.ask("COPY do=cancel;copy=2;")[0], 250)
        wait_for(lambda: "copy 2: cut: " in b.stderr, "its end", alive=b.running)
        self.assertEqual(session.last("COPY do=wait;copy=2;")[0], 426)
        self.assertEqual(session.ask("COPY do=wait;copy=4;")[0], 550)
        self.assertEqual(len(session.ask("COPY do=list;")[1]), 2 + 64)
        self.assertEqual(other.last("COPY do=wait;copy=1;")[0], 425)

    def test_one_account_has_so_many_under_way(self):
        """Those that wait between two tries take no share of the transfers, but each its thread."""
        need_program("openssl")
        b = self.server(settings={"copy_hosts": '["127.0.0.1"]', "transfers_max": 100, "sessions_per_address": 100,
                                  "memory": "4GiB"})
        mute = socket.create_server(("127.0.0.1", 0), backlog=100)  # each copy waits for its first word
        self.addCleanup(mute.close)
        request = (f"COPY direction=get;{TERMS}host=127.0.0.1;port={mute.getsockname()[1]};peer={fingerprint(b)};"
                   f"grant={'00' * 16};there=/one; /copied")
        sessions = [Session(self, b) for _ in range(65)]
        for session in sessions[:-1]:
            code, lines = session.ask(request)
            self.assertEqual(code, 150, lines)
        code, lines = sessions[-1].ask(request)
        self.assertEqual((code, "Too many copies" in lines[0]), (450, True), lines)
        self.assertEqual(sessions[0].ask("ABOR")[0], 426)
        self.assertEqual(sessions[-1].ask(request)[0], 150)
