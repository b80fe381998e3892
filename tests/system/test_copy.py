"""Copies from server to server, which a client conducts (docs/copy.md)."""

import json
import os
import shlex
import shutil
import signal

from copies import CopyCase
from harness import CUT, DONE, FILE_FAILED, MIB, NO_SESSION, USAGE, USER, Settings, need_program, wait_for
from labs import LabCase
from sessions import Impostor


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
