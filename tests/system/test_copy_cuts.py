"""Copies from server to server that are cut, cancelled, or left, and go on."""

import json
import os
import shutil
import signal

from copies import CopyCase
from harness import CUT, DONE, FILE_FAILED, INTEGRITY, MIB, NO_SESSION, Result, wait_for
from sessions import Impostor


class ForOnce(Impostor):
    """Is away after its first session."""

    def serve(self):
        plain, _ = self.listener.accept()
        self.listener.close()
        self.converse(plain)


class CopyCuts(CopyCase):
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

        def files():
            listed = self.client("copies", b.url()).events
            return next((each["files"], each["files_known"]) for each in listed if each.get("copy") == number)
        wait_for(lambda: files() == (0, 1), "a look at the copy", alive=b.running)
        self.assertEqual(self.client("copies", b.url(), "--cancel", str(number)).code, DONE)
        self.assertEqual(watching.wait(), CUT, watching.stderr)
        self.assertIn("the copy was cancelled", watching.stderr)
        self.assertEqual(files(), (0, 1))
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
