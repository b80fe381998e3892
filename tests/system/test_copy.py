"""Copies from server to server, which a client conducts (docs/copy.md)."""

import json
import os
import re
import shlex
import shutil
import signal
import struct
import time

from copies import CopyCase, fingerprint
from harness import (CUT, DONE, FILE_FAILED, INTEGRITY, MIB, NO_SESSION, PASSWORD, USAGE, USER, Result, Settings,
                     need_program, wait_for)
from labs import LabCase
from sessions import TERMS, Impostor, Session


class ForOnce(Impostor):
    """Is away after its first session."""

    def serve(self):
        plain, _ = self.listener.accept()
        self.listener.close()
        self.converse(plain)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


class Copies(CopyCase):
    def test_a_tree_whichever_server_dials(self):
        for source_dials in (False, True):
            with self.subTest(source_dials=source_dials):
                a, b = (self.server(root=self.folder(f"{side}{source_dials}"), state=self.folder(f"s{side}{source_dials}"),
                                    settings={"copy_hosts": '["127.0.0.1"]'} if (side == "a") == source_dials else {})
                        for side in "ab")
                names = self.tree(a)
                result = self.copy(a.url("data"), b.url("data"))
                self.assertEqual(result.summary["files"], len(names))
                self.assertEqual(result.summary["verified"], len(names))
                self.assertEqual(result.summary["bytes"], sum(names.values()))
                self.assert_copied(names, a, b)
                self.assertEqual("the source server does it" in result.stderr, source_dials, result.stderr)
                self.assertEqual("a grant given back" in a.stderr, source_dials, a.stderr)
                # Contents, into a place with a name that must be encoded; patterns go along.
                strange = "in\r\nhere; 50%/ü\n"
                self.copy(a.url("data/"), b.url(strange), "--exclude", "none",
                          *(("--connect", "source") if source_dials else ()))
                self.assert_copied([name for name in names if name != "data/none"], a, b, to=strange)
                self.assertFalse(os.path.exists(b.path(strange + "/none")))

    def test_patterns_mean_the_same_wherever_a_tree_lands(self):
        both = {"copy_hosts": '["127.0.0.1"]'}
        a, b = (self.server(root=self.folder(side), state=self.folder("s" + side), settings=both) for side in "ab")
        for name in ("secret", "sub/one", "kept", "sub/secret"):
            os.makedirs(os.path.dirname(a.path("tree/" + name)), exist_ok=True)
            self.file_with(a.path("tree/" + name), name.encode())
        patterns = ("--exclude", "/tree/secret", "--exclude", "/sub", "--exclude", "/other/kept")
        left = [b"kept", b"sub/one", b"sub/secret"]
        for dialler in ("source", "destination"):
            with self.subTest(dialler=dialler):
                self.copy(a.url("tree"), b.url("new"), "--connect", dialler, *patterns)
                self.assertEqual(files_below(b.path("new")), left)  # it became the target
                self.copy(a.url("tree"), b.url("new"), "--connect", dialler, *patterns)
                self.assertEqual(files_below(b.path("new/tree")), left)  # it lies in it
                # What a directory holds is the top itself.
                self.copy(a.url("tree/"), b.url("contents"), "--connect", dialler, *patterns)
                self.assertEqual(files_below(b.path("contents")), [b"kept", b"secret"])
                for made in ("new", "contents"):
                    shutil.rmtree(b.path(made))

    def test_one_file_and_where_it_lands(self):
        a, b = self.pair()
        self.file_with(a.path("one"), b"one of them")
        os.mkdir(b.path("there"))
        self.copy(a.url("one"), b.url("there"))
        self.copy(a.url("one"), b.url("new/name"))
        self.assert_same(a.path("one"), b.path("there/one"))
        self.assert_same(a.path("one"), b.path("new/name"))

    def test_a_tree_is_not_copied_into_itself(self):
        server = self.server(settings={"copy_hosts": '["127.0.0.1"]'})
        names = self.tree(server)
        listed = files_below(server.path("data"))
        for target in ("data", "data/inside", "/./data//deep/x"):
            refused = self.copy(server.url("data"), server.url(target), code=USAGE)
            self.assertIn("lies within it", refused.said())
        self.assertEqual(files_below(server.path("data")), listed)
        self.copy(server.url("data/"), server.url("data/inside"), "--exclude", "/inside")
        self.assert_copied(names, server, server, to="data/inside")
        self.copy(server.url("data"), server.url("data2"))
        self.assert_copied(names, server, server, to="data2")

    def test_it_goes_on_without_the_client(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(12 * MIB))
        first = self.copy(a.url("big"), b.url("big"), "--detach", "--rate-limit", "30Mbit/s")
        number = first.events[0]["copy"]
        listed = self.client("copies", b.url()).events[0]
        self.assertEqual((listed["copy"], listed["there"], listed["path"]), (number, "/big", "/big"))
        self.assertIn(listed["state"], ("dialling", "moving"))
        # One that waits may be killed too.
        watching = self.start("copies", b.url(), "--wait", str(number))
        self.wait_for_part(b.root, watching)
        watching.kill()
        done = self.client("copies", b.url(), "--wait", str(number))
        self.assertEqual(done.code, DONE, str(done))
        self.assertEqual(done.summary["verified"], 1)
        late = self.client("copies", b.url(), "--wait", str(number))  # it is over: its own time counts
        self.assertGreater(late.summary["transfer_seconds"], 0.5)
        self.assertGreaterEqual(late.summary["seconds"], late.summary["transfer_seconds"])
        self.assert_same(a.path("big"), b.path("big"))
        told = self.client("copies", b.url(), json=False)
        self.assertRegex(told.stdout, rf"copy {number}  done  12\S* MiB, .* 1 file: from 127.0.0.1:\d+/big to /big")
        self.assertEqual(self.client("copies", b.url(), "--wait", "77").code, FILE_FAILED)

    def test_killed_and_run_again(self):
        """Without --detach it ends with its client, and the same command goes on with it."""
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(24 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", "100Mbit/s", a.url("big"), b.url("big"))
        self.wait_for_part(b.root, client, at_least=8 * MIB)
        client.kill()
        wait_for(lambda: "cut: the copy was cancelled" in b.stderr, "the end of the copy", alive=b.running)
        again = self.copy(a.url("big"), b.url("big"))
        self.assertGreater(again.summary["bytes_kept"], 0)
        self.assertEqual(again.summary["verified"], 1)
        self.assert_same(a.path("big"), b.path("big"))

    def test_a_tree_under_a_new_name_run_again(self):
        a, b = self.pair()
        names = self.tree(a)
        client = self.start("copy", *self.both(), "--rate-limit", "16Mbit/s", a.url("data"), b.url("new/dir"))
        self.wait_for_part(b.path("new"), client, at_least=1 * MIB)
        client.kill()
        wait_for(lambda: "cut: the copy was cancelled" in b.stderr, "the end of the copy", alive=b.running)
        # One that is refused forgets nothing of what was begun.
        self.copy(a.url("data"), b.url("new/dir"), "--connect", "source", code=NO_SESSION)
        again = self.copy(a.url("data"), b.url("new/dir"))
        self.assertGreater(again.summary["bytes_kept"] + again.summary["adopted"], 0)
        self.assert_copied(names, a, b, to="new/dir")
        self.assertFalse(os.path.exists(b.path("new/dir/data")))
        self.copy(a.url("data"), b.url("new/dir"))
        self.assert_copied(names, a, b, to="new/dir/data")

    def test_interrupted_and_cancelled(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(24 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", "50Mbit/s", a.url("big"), b.url("big"))
        self.wait_for_part(b.root, client)
        client.signal(signal.SIGINT)
        self.assertEqual(client.wait(), CUT, client.stderr)
        wait_for(lambda: "copy 1: cut: " in b.stderr, "the end of the copy", alive=b.running)
        # It tells what came over, and the same command goes on from there.
        summary = json.loads(client.stdout.splitlines()[-1])
        self.assertEqual((summary["event"], summary["files"]), ("summary", 0))
        self.assertGreater(summary["bytes"], 0)
        self.assertIn("interrupted; run the same command again", client.stderr)
        self.assertRegex(client.stderr, r"0 files done, .* moved in ")
        number = self.copy(a.url("big"), b.url("big"), "--detach", "--rate-limit", "50Mbit/s").events[0]["copy"]
        watching = self.start("copies", b.url(), "--wait", str(number))
        self.wait_for_part(b.root, watching)
        self.assertEqual(self.client("copies", b.url(), "--cancel", str(number)).code, DONE)
        self.assertEqual(watching.wait(), CUT, watching.stderr)
        self.assertIn("the copy was cancelled", watching.stderr)
        late = self.client("copies", b.url(), "--cancel", str(number))
        self.assert_failed(late, FILE_FAILED)
        self.assertIn("has ended already", late.stderr)

    def test_one_that_is_cancelled_is_not_begun_again(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(24 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", "20Mbit/s", "--retry-for", "1min", a.url("big"),
                            b.url("big"))
        self.wait_for_part(b.root, client)
        self.assertEqual(self.client("copies", b.url(), "--cancel", "1").code, DONE)
        self.assertEqual(client.wait(), CUT, client.stderr)
        self.assertIn("the copy was cancelled", client.stderr)
        self.assertNotIn("copy 2: begins", b.stderr)

    def test_a_renewed_certificate_waits_for_the_next_start(self):
        """The grant is for the key that the client saw, which is the one that the server read when it started."""
        a, b = self.pair()
        self.file_with(a.path("one"), b"here it is")
        for name in ("certificate.pem", "key.pem"):  # in between, they do not belong together
            shutil.copyfile(os.path.join(a.state, name), os.path.join(b.state, name))
            self.copy(a.url("one"), b.url(name))
            self.assert_same(a.path("one"), b.path(name))

    def test_a_server_that_dies_is_come_back_to(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(16 * MIB))
        client = self.start("copy", *self.both(), "--rate-limit", "50Mbit/s", "--retry-for", "1min",
                            a.url("big"), b.url("big"))
        self.wait_for_part(b.root, client, at_least=4 * MIB)
        a.signal(signal.SIGKILL)
        a.wait()
        wait_for(lambda: "trying again in" in client.stderr, "a retry", alive=client.running)
        self.server(root=a.root, state=a.state, listen=f"{a.host}:{a.port}")
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assert_same(a.path("big"), b.path("big"))

    def test_what_came_over_is_told_where_the_server_that_conducts_dies(self):
        a, b = self.pair()
        self.file_with(a.path("big"), self.random.randbytes(24 * MIB))
        for again in ((), ("--retry-for", "1s")):
            with self.subTest(again=again):
                client = self.start("copy", *self.both(), "--rate-limit", "8Mbit/s", *again, a.url("big"), b.url("big"))
                wait_for(lambda: "  RTT " in client.stderr, "a line of progress", alive=client.running)
                b.kill()
                self.assertEqual(client.wait(), CUT, client.stderr)
                self.assertRegex(client.stderr, r"0 files done, .*B moved in .*, the transfer alone [\d.]+ Mbit/s")
                moved = Result(client).summary["bytes"]
                self.assertGreater(moved, 0)
                self.assertLess(moved, 16 * MIB)
                b = self.server(root=b.root, state=b.state, listen=f"{b.host}:{b.port}",
                                settings={"copy_hosts": '["127.0.0.0/8"]'})

    def test_a_server_that_is_full_is_named(self):
        dials = {"copy_hosts": '["127.0.0.0/8"]'}
        for full, said in (("source", "/one (on the source server): "), ("destination", "the destination server: ")):
            with self.subTest(full=full):
                a, b = (self.server(root=self.folder(side + full), state=self.folder("s" + side + full),
                                    settings={**dials, **({"transfers_max": 1} if side == full else {})})
                        for side in ("source", "destination"))
                self.file_with(a.path("one"), b"1")
                other = a if full == "source" else b
                put = self.start("put", "--rate-limit", "8Mbit/s", self.random_file("other", 8 * MIB), other.url("other"))
                self.wait_for_part(other.root, put)
                client = self.start("copy", *self.both(), "--retry-for", "1min", a.url("one"), b.url("one"))
                wait_for(lambda: said + "Too many transfers run; try later (450); trying again in" in client.stderr,
                         "a pause", alive=client.running)
                put.signal(signal.SIGINT)
                self.assertEqual(put.wait(), CUT, put.stderr)
                self.assertEqual(client.wait(), DONE, client.stderr)

    def test_a_tree_goes_on_where_it_began(self):
        """The server that conducts dies; the next try finds the directory that the first one made."""
        a, b = self.pair()
        names = self.tree(a)
        client = self.start("copy", *self.both(), "--rate-limit", "16Mbit/s", "--retry-for", "1min",
                            a.url("data"), b.url("new/dir"))
        self.wait_for_part(b.path("new"), client, at_least=1 * MIB)
        b.signal(signal.SIGKILL)
        b.wait()
        wait_for(lambda: "trying again in" in client.stderr, "a retry", alive=client.running)
        b = self.server(root=b.root, state=b.state, listen=f"{b.host}:{b.port}",
                        settings={"copy_hosts": '["127.0.0.0/8"]'})
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assertEqual(Result(client).summary["cuts"], 1)
        self.assert_copied(names, a, b, to="new/dir")
        self.assertFalse(os.path.exists(b.path("new/dir/data")))

    def test_a_server_that_conducts_and_tells_nonsense(self):
        a = self.server()
        self.file_with(a.path("one"), b"1")
        moving = ("112 copy=1;state=moving;direction=get;peer=h;there=/one;started=1;" +
                  "".join(f"{name}=0;" for name in ("bytes", "total", "files", "known", "sent", "lost", "rtt", "rate")) +
                  " /one")
        cut = ["425-fault=session;side=network;error=cut; gone", "425 End"]
        nothing = Impostor.facts()
        for lines, code, said in (
                ([f"425 {nothing}"], CUT, "(425)"),
                ([f"426 {nothing}"], CUT, "(426)"),
                ([moving, f"425-{nothing}", *cut], CUT, "gone"),
                ([f"425-{nothing}", *cut], NO_SESSION, "dials no other"),  # the source tries it
                ([f"226 {Impostor.facts(failed=2)}"], FILE_FAILED, "2 files failed")):
            with self.subTest(lines=lines):
                impostor = Impostor(self, a, ["150 copy=1;", *lines])
                result = self.client("copy", *self.both(), a.url("one"), impostor.url("one"))
                self.assert_failed(result, code)
                self.assertIn(said, result.said())
        hostile = moving[4:].replace("bytes=0", "bytes=5").replace("rate=0", "rate=1") + "\x1b[2J"
        listed = self.client("copies", Impostor(self, a, ["211-Copies", " " + hostile, "211 End"]).url(""), json=False)
        self.assertEqual(listed.code, DONE, str(listed))
        self.assertIn("\\x1b[2J", listed.stdout)
        self.assertNotIn("\x1b", listed.stdout)
        self.assertNotIn(" left", listed.stdout)
        endless = hostile.replace("total=0", f"total={2**64 - 1}").replace("known=0", "known=1")
        listed = self.client("copies", Impostor(self, a, ["211-Copies", " " + endless, "211 End"]).url(""), json=False)
        self.assertIn(", more than 1000:00:00 left", listed.stdout)

    def test_what_failed_before_the_session_was_lost_for_good_is_told(self):
        a = self.server()
        self.file_with(a.path("one"), b"1")
        cut = [f"426-{Impostor.facts(failed=1)}", "426-fault=session;side=network;error=cut; gone",
               "426-fault=integrity;side=local;name=one;error=file; digests differ", "426 End"]
        away = ForOnce(self, a, ["150 copy=1;", *cut])
        result = self.client("copy", *self.both(), "--retry-for", "1s", a.url("one"), away.url("one"))
        self.assertIn("trying again in", result.stderr)
        self.assert_failed(result, INTEGRITY)
        self.assertEqual([error["path"] for error in result.errors if error["code"] == "integrity"], ["/one"])

    def test_a_reason_that_both_have_is_said_once(self):
        a, b = (self.server(root=self.folder(side), state=self.folder("s" + side)) for side in "ab")
        self.file_with(a.path("one"), b"1")
        refused = self.client("copy", *self.both(), a.url("one"), b.url("one"))
        self.assert_failed(refused, NO_SESSION)
        self.assertEqual(refused.stderr.count("dials no other"), 1, refused.stderr)
        self.assertIn("the destination server says the same", refused.errors[0]["message"])

    def test_what_fails_is_said_with_its_side(self):
        a, b = self.pair()
        missing = self.copy(a.url("nothing"), b.url("x"), code=FILE_FAILED)
        self.assertEqual(missing.errors[0]["side"], "source")
        self.assertRegex(missing.stderr, r"/nothing \(on the source server\): .*[Nn]o such file")
        self.file_with(a.path("one"), b"1")
        self.file_with(b.path("file"), b"in the way")
        blocked = self.copy(a.url("one"), b.url("file/one"), code=FILE_FAILED)
        self.assertEqual(blocked.errors[0]["side"], "destination", str(blocked))
        wrong = self.secret("wrong", "not the password")
        refused = self.client("copy", "--source-password-file", wrong, a.url("one"), b.url("one"))
        self.assert_failed(refused, NO_SESSION)
        self.assertIn("the source server: ", refused.stderr)
        unasked = self.client("copy", a.url("one"), b.url("one"))
        self.assert_failed(unasked, NO_SESSION)
        self.assertIn("--source-password-file, LAMBDA_FTP_SOURCE_PASSWORD", unasked.stderr)
        self.assert_failed(self.client("copy", *self.both(), a.path("one"), b.url("one")), USAGE)
        for command in ("copy", "sync"):
            rated = self.client(command, *self.both(), "--rate-file", wrong, a.url("one"), b.url("one"))
            self.assert_failed(rated, USAGE)
            self.assertIn("--rate-file", rated.said())
        patterns = [f"--exclude={'x' * 250}{number}" for number in range(8)]
        self.copy(a.url("one"), b.url("many"), *patterns)  # longer than a command's line
        self.assert_same(a.path("one"), b.path("many"))

    def test_a_server_that_stops_is_the_one_that_is_named(self):
        for stopped in ("source", "destination"):
            with self.subTest(stopped=stopped):
                a, b = (self.server(root=self.folder(side + stopped), state=self.folder("s" + side + stopped),
                                    settings={"copy_hosts": '["127.0.0.1"]'}) for side in "ab")
                self.file_with(a.path("big"), self.random.randbytes(24 * MIB))
                client = self.start("copy", *self.both(), "--rate-limit", "50Mbit/s", a.url("big"), b.url("big"))
                self.wait_for_part(b.root, client)
                server = a if stopped == "source" else b
                for _ in range(2):  # the second one waits for no transfer
                    server.signal(signal.SIGTERM)
                    wait_for(lambda: "stopping" in server.stderr, "the first of them", alive=server.running)
                self.assertEqual(client.wait(), CUT, client.stderr)
                error = Result(client).errors[0]
                self.assertEqual((error["side"], "the server stops" in error["message"]), (stopped, True), error)

    def test_terms_that_a_server_does_not_support(self):
        both = {"copy_hosts": '["127.0.0.1"]'}
        a, b = (self.server(root=self.folder(side), state=self.folder("s" + side), settings=both) for side in "ab")
        self.file_with(a.path("one"), b"1")
        refused = self.client("copy", *self.both(), "--congestion", "nolaw", a.url("one"), b.url("one"))
        self.assert_failed(refused, USAGE)
        self.assertIn("congestion law 'nolaw' is not known", refused.errors[0]["message"])
        self.assertNotIn("the same", refused.stderr)

    def test_no_server_may_dial(self):
        a = self.server(root=self.folder("a"), state=self.folder("sa"))
        b = self.server(root=self.folder("b"), state=self.folder("sb"), settings={"copy_hosts": '["10.0.0.0/8"]'})
        self.file_with(a.path("one"), b"1")
        for verb, *options in (["copy"], ["sync"], ["copy", "--connect", "source"], ["copy", "--connect", "destination"]):
            with self.subTest(verb=verb, options=options):
                result = self.client(verb, *self.both(), *options, a.url("one"), b.url("one"))
                self.assert_failed(result, NO_SESSION)
                self.assertEqual("may not be dialled" in result.stderr, "source" not in options, str(result))
                self.assertIn("copy_hosts", result.stderr, str(result))
                self.assertFalse(os.path.exists(b.path("one")))
        # Nothing was made under the new name, so nothing is kept of it.
        self.tree(a)
        for options in ((), ("--connect", "source"), ("--connect", "destination")):
            self.copy(a.url("data"), b.url("new"), *options, code=NO_SESSION)
            self.assertEqual(self.marks(), [])

    def test_within_itself_by_another_name_of_the_server(self):
        a = self.server(root=self.folder("a"), state=self.folder("sa"), settings={"copy_hosts": '["127.0.0.1"]'})
        names = self.tree(a)
        within = a.url("data/in").replace("127.0.0.1", "localhost")
        refused = self.copy(a.url("data"), within, code=USAGE)
        self.assertIn("lies within it", refused.stderr)
        self.assertFalse(os.path.exists(a.path("data/in")))
        # Another one with the same key is another one.
        keys = {name: os.path.join(a.state, file) for name, file in (("certificate", "certificate.pem"), ("key", "key.pem"))}
        b = self.server(root=self.folder("b"), state=self.folder("sb"), settings={"copy_hosts": '["127.0.0.1"]', **keys})
        self.copy(a.url("data"), b.url("data"))
        self.assert_copied(names, a, b)

    def test_of_a_target_that_could_not_be_made_nothing_is_kept(self):
        both = {"copy_hosts": '["127.0.0.1"]'}
        a, b = (self.server(root=self.folder(side), state=self.folder("s" + side), settings=both) for side in "ab")
        self.tree(a)
        self.file_with(b.path("new"), b"a file")
        self.copy(a.url("data"), b.url("new"), code=FILE_FAILED)
        self.assertEqual(self.marks(), [])


class Grants(CopyCase):
    def setUp(self):
        super().setUp()
        need_program("openssl")
        self.a, self.b = self.pair()
        self.file_with(self.a.path("one"), b"the one that is granted")
        self.file_with(self.a.path("other"), b"the other")
        self.source = Session(self, self.a)
        self.target = Session(self, self.b)

    def grant(self, path="/one", direction="get", peer=None, life=300, more=""):
        return self.source.grant(self, f"direction={direction};peer={peer or fingerprint(self.b)};life={life};{more}",
                                 path)

    def request(self, grant, there="/one", peer=None, port=None, host="127.0.0.1"):
        return (f"COPY direction=get;{TERMS}host={host};port={port or self.a.port};"
                f"peer={peer or fingerprint(self.a)};grant={grant};there={there}; /copied")

    def assert_refused(self, answer, why, code=426):
        self.assertEqual(answer[0], code, answer)
        self.assertIn(why, "".join(answer[1]).replace("%20", " "))
        self.assertFalse(os.path.exists(self.b.path("copied")))

    def test_what_a_grant_covers(self):
        for check in (self.once, self.one_path_and_direction, self.no_owners, self.no_deletion, self.one_peer, self.a_while,
                      self.so_many_bytes, self.the_server_that_was_meant):
            with self.subTest(check.__name__):
                check()
                if os.path.exists(self.b.path("copied")):
                    os.unlink(self.b.path("copied"))

    def once(self):
        grant = self.grant()
        self.assertEqual(self.target.last(self.request(grant))[0], 226)
        self.assert_same(self.a.path("one"), self.b.path("copied"))
        os.unlink(self.b.path("copied"))
        self.assert_refused(self.target.last(self.request(grant)), "unknown, used or too old")
        # A session that presented one opens one transfer, and nothing else.
        peer = Session(self, self.a, key_of=self.b, login=False)
        self.assertEqual(peer.ask(f"GRANT grant={self.grant()};")[0], 230)
        for line in ("MLSD /", "MLST /one", "DELE /one", "GRANT direction=get;life=9;peer=SHA256:x; /one", "CWD /",
                     "USER " + USER, "PASS " + PASSWORD, "COPY do=list;", "CKSM xxh3-128 0 -1 /one"):
            self.assertEqual(peer.ask(line)[0], 530, line)
        self.assertTrue(os.path.exists(self.a.path("one")))

    def no_owners(self):
        """Nor extended attributes: neither told to the peer, nor taken from it."""
        walk = ";walk=2900000400010000; /"
        refused = self.target.last(self.request(self.grant()).replace("; /", walk))
        self.assert_refused(refused, "owners and extended attributes were not granted")
        self.assertEqual(self.target.last(self.request(self.grant(more="archive=1;")).replace("; /", walk))[0], 226)
        for more, code in (("", 426), ("archive=1;", 226)):
            grant = self.grant(direction="put", path="/put", more=more)
            put = self.request(grant, there="/put").replace("direction=get", "direction=put")
            answer = self.target.last(put.replace("; /", walk))
            self.assertEqual(answer[0], code, answer)
            self.assertEqual(os.path.exists(self.a.path("put")), code == 226)

    def one_path_and_direction(self):
        self.assert_refused(self.target.last(self.request(self.grant(), there="/other")), "another path was granted")
        self.assert_refused(self.target.last(self.request(self.grant(), there="/")), "another path was granted")
        # Where links are not to be followed, the peer cannot follow them either.
        os.mkdir(self.a.path("tree"))
        os.symlink("../other", self.a.path("tree/link"))
        follow = self.request(self.grant(path="/tree"), there="/tree").replace(
            "; /copied", ";walk=2900000401000000; /copied")
        self.assert_refused(self.target.last(follow), "following links was not granted")
        granted = self.request(self.grant(path="/tree", more="follow=1;"), there="/tree").replace(
            "; /copied", ";walk=2900000401000000; /copied")
        self.assertEqual(self.target.last(granted)[0], 226)
        self.assert_same(self.a.path("other"), self.b.path("copied/link"))
        shutil.rmtree(self.b.path("copied"))
        put = f"XFER direction=put;{TERMS}nonce={'00' * 16};"
        peer = Session(self, self.a, key_of=self.b, login=False)
        self.assertEqual(peer.ask(f"GRANT grant={self.grant(direction='put', path='/in')};")[0], 230)
        for line, why in ((put + " /other", "another path"), (put + " /in/../one", "another path"),
                          (put + "several=1; /in", "another path"),
                          (put.replace("put", "get", 1), "other direction")):
            code, lines = peer.ask(line)
            self.assertEqual((code, why in lines[0]), (550, True), lines)
        self.assertEqual(peer.ask(put + " /in")[0], 150)

    def no_deletion(self):
        """A SYNC over a grant that names none ends the transfer: flags 1 and 2, a sync that deletes."""
        os.mkdir(self.a.path("in"))
        self.file_with(self.a.path("in/kept"), b"stands there")
        peer = Session(self, self.a, key_of=self.b, login=False)
        self.assertEqual(peer.ask(f"GRANT grant={self.grant(direction='put', path='/in', more='several=1;')};")[0], 230)
        code, lines = peer.ask(f"XFER direction=put;{TERMS}nonce={'00' * 16};several=1; /in")
        self.assertEqual(code, 150, lines)
        link = Session(self, self.a, login=False)
        token = re.search("token=([0-9a-f]+)", lines[0])[1]
        self.assertEqual(link.ask(f"JOIN token={token};stripe=0;epoch=1;")[0], 200)
        sync = struct.pack("!BQH", 3, 2**64 - 1, 0)
        itself = struct.pack("!BBQqIB", 1, 0, 0, 0, 0o755, 0) + struct.pack("!H", 1) + b"." + struct.pack("!H", 0)
        records = b"".join(struct.pack("!I", kind << 24 | len(body)) + body for kind, body in (
            (0x2a, sync), (0x2b, itself), (0x2b, b"\2"), (0x2c, struct.pack("!QQ", 1, 0)), (0x14, bytes(8))))
        link.stream.sendall(struct.pack("!I", 4 << 24 | len(records) + 8) + bytes(8) + records)
        code, lines = peer.hear()
        self.assertEqual((code, "another sync was granted" in "".join(lines).replace("%20", " ")), (426, True), lines)
        self.assertTrue(os.path.exists(self.a.path("in/kept")))

    def one_peer(self):
        stranger = fingerprint(self.server(root=self.folder("c"), state=self.folder("sc")))
        self.assert_refused(self.target.last(self.request(self.grant(peer=stranger))), "given to another key")
        grant = self.grant()
        nobody = Session(self, self.a, login=False)
        self.assertEqual(nobody.ask(f"GRANT grant={grant};")[0], 530)
        # It was not spent by that.
        self.assertEqual(self.target.last(self.request(grant))[0], 226)

    def a_while(self):
        grant = self.grant(life=1)
        begin = time.monotonic()
        wait_for(lambda: time.monotonic() > begin + 1.1, "the grant to grow old")
        self.assert_refused(self.target.last(self.request(grant)), "unknown, used or too old")

    def so_many_bytes(self):
        size = os.path.getsize(self.a.path("one"))
        self.assert_refused(self.target.last(self.request(self.grant(more=f"size={size - 1};"))),
                            "more to send than was granted")
        self.assertEqual(self.target.last(self.request(self.grant(more=f"size={size};")))[0], 226)

    def the_server_that_was_meant(self):
        answer = self.target.last(self.request(self.grant(), peer=fingerprint(self.b)))
        self.assert_refused(answer, "key has changed", code=425)
        self.assert_refused(self.target.last(self.request(self.grant(), host="127.0.0.1", port=80)), "1024", code=504)
        self.assert_refused(self.target.last(self.request(self.grant(), host="::1")), "may not be dialled", code=425)
        self.assert_refused(self.target.last(self.request("00" * 16)), "unknown, used or too old")

    def test_another_password_ends_what_was_granted(self):
        grant = self.grant(more="again=600;")

        def present():
            return Session(self, self.a, key_of=self.b, login=False).ask(f"GRANT grant={grant};")

        def reload():
            before = self.a.stderr.count("accounts and log level reloaded")
            self.a.signal(signal.SIGHUP)
            wait_for(lambda: self.a.stderr.count("accounts and log level reloaded") > before, "the accounts",
                     alive=self.a.running)

        self.assertEqual(present()[0], 230)
        reload()
        self.assertEqual(present()[0], 230)  # it is the same password
        presented = []
        for one in (grant, self.grant()):
            presented.append(Session(self, self.a, key_of=self.b, login=False))
            self.assertEqual(presented[-1].ask(f"GRANT grant={one};")[0], 230)
        self.secret("server-password", "another one")
        self.assertEqual(present()[0], 230)  # which the server does not know yet
        reload()
        code, lines = present()
        self.assertEqual(code, 530)
        self.assertIn("has another password", lines[0])
        for session in presented:  # and have not begun
            code, lines = session.ask(f"XFER direction=get;{TERMS}nonce={'00' * 16};")
            self.assertEqual(code, 530, lines)
            self.assertIn("has another password", lines[0])

    def test_hostile_facts(self):
        good = f"direction=get;peer={fingerprint(self.b)};life=60;"
        for facts in ("", "direction=get; /one", f"{good}life=60; /one", good, f"{good} ",
                      good.replace("life=60", "life=0") + " /one", good.replace("life=60", "life=99999999") + " /one",
                      good.replace("SHA256", "MD5") + " /one", good.replace("get", "both") + " /one",
                      good + "size=-1; /one", good + "x" * 3000):
            self.assertEqual(self.source.ask("GRANT " + facts)[0], 501, facts)
        full = self.request("00" * 16)[5:]
        for old, new in (("grant=00", "grant=0"), ("there=/one", "there=%00"), ("there=/one", "there=%zz"),
                         ("there=/one;", ""), ("port=", "port=9"), ("host=127.0.0.1", "host="), ("get", "sideways"),
                         ("host=127.0.0.1", "host=127.0.0.1%0A"),
                         ("; /copied", ";"), ("stripes=2", "stripes=0"), ("; /copied", ";walk=0102; /copied"),
                         ("; /copied", ";walk=xyz; /copied")):
            self.assertIn(old, full)
            self.assertEqual(self.target.ask("COPY " + full.replace(old, new, 1))[0], 501, (old, new))
        for order in ("do=nothing;", "do=wait;", "do=cancel;copy=-1;"):
            self.assertEqual(self.target.ask("COPY " + order)[0], 501, order)
        for order in ("do=wait;copy=9;", "do=cancel;copy=9;"):
            self.assertEqual(self.target.ask("COPY " + order)[0], 550, order)
        self.assertEqual(self.target.ask("COPY do=list;")[0], 211)
        self.switched_off()
        self.assert_serving(self.a)
        self.assert_serving(self.b)

    def switched_off(self):
        off = Session(self, self.server(root=self.folder("off"), state=self.folder("soff"),
                                        settings={"allow_copy": "false", "copy_hosts": '["*"]'}))
        self.assertEqual(off.ask("COPY do=list;")[0], 504)
        self.assertEqual(off.ask(f"GRANT direction=get;life=9;peer={fingerprint(self.b)}; /one")[0], 504)


class ThreeHosts(LabCase):
    def test_the_data_does_not_pass_the_client(self):
        """Servers on both sides of the path. The client is a host of its own, with a line to the source."""
        need_program("ip"), need_program("nsenter")
        size = 24 * MIB
        os.makedirs(os.path.join(self.scratch, "left"))
        source = os.path.join(self.scratch, "left", "data")
        self.file_with(source, self.random.randbytes(size))
        path = self.path("bottleneck: {rate: 400Mbit/s}\n"
                         "hosts:\n"
                         "  - {name: client, side: left}\n"
                         "  - {name: source, side: left}\n"
                         "  - {name: target, side: right, delay: 10ms}\n")

        def serving(host, folder):
            pid = f"echo $$ > $LAB_LOGS/{host}.pid; "
            command = (f"exec {shlex.quote(Settings.bin_dir)}/lambda-ftpd --root {shlex.quote(self.folder(folder))} "
                       f"--state {shlex.quote(self.folder(host + '-state'))} --user {USER} --copy-host 10.77.0.0/16 "
                       f"--password-file {shlex.quote(self.client_password)} --listen 0.0.0.0:2811")
            return "--on", host, pid + command, "--ready", host, "listening on"

        line = ("S=$(cat $LAB_LOGS/source.pid); ip link add line0 type veth peer name line1; "
                "ip link set line1 netns $S; ip addr add 10.99.0.1/24 dev line0; ip link set line0 up; "
                "nsenter -t $S -n ip addr add 10.99.0.2/24 dev line1; nsenter -t $S -n ip link set line1 up; "
                "ip route replace $LAB_HOST_source via 10.99.0.2 src $LAB_HOST_client; "
                "nsenter -t $S -n ip route replace $LAB_HOST_client via 10.99.0.1 src $LAB_HOST_source; ")
        places = f"lambda://{USER}@$LAB_HOST_source/data lambda://{USER}@$LAB_HOST_target/data"
        ask = self.ask("copy", "--source-password-file", shlex.quote(self.client_password), places)
        run = self.lab(path, *serving("source", "left"), *serving("target", "right"),
                       main=f"set -e; {line} {ask}; cat /proc/self/net/dev")
        self.assert_same(source, os.path.join(self.scratch, "right", "data"))
        summary = next(json.loads(line) for line in run.stdout.splitlines() if '"summary"' in line)
        self.assertEqual((summary["bytes"], summary["verified"]), (size, 1))
        carried = 0
        for text in run.stdout.splitlines():
            name, _, numbers = text.partition(":")
            if name.strip() in ("lab0", "line0"):
                carried += int(numbers.split()[0]) + int(numbers.split()[8])
        self.assertGreater(carried, 1000)
        self.assertLess(carried, size / 100)
        self.assertGreater(run.counters["forward"]["bytes"], size)
