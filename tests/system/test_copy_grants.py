"""What a grant lets the other server do, and nothing else (docs/copy.md)."""

import os
import re
import shutil
import signal
import struct
import time

from copies import CopyCase, fingerprint
from harness import PASSWORD, USER, need_program, wait_for
from sessions import TERMS, Session


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
