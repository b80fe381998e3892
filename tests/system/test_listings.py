"""ls of directories of which the server may not see everything; servers that answer nonsense."""

import os

from disks import Silent
from harness import CUT, DONE, FILE_FAILED, Case, need_isolation
from jobs import Jobs
from sessions import Impostor, ManyAtOnce

NOBODY = 65534


class Listings(Case):
    def test_a_directory_in_which_nothing_may_be_looked_at(self):
        need_isolation()
        self.random_file("inside", 10, folder="root/closed")
        os.chmod(os.path.join(self.scratch, "root/closed"), 0o444)
        server = self.server(user=NOBODY)
        result = self.client("ls", server.url("closed"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("Permission denied", result.said())
        # The session goes on behind it: the pattern's other directory is listed in it.
        self.random_file("inside", 10, folder="root/open")
        result = self.client("ls", server.url("*/*"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual([event["name"] for event in result.events if event["event"] == "entry"], ["/open/inside"])

    def test_an_entry_that_cannot_be_looked_at(self):
        server = self.server()
        self.random_file("file", 10, folder="root")
        Silent(self, self.folder("root/dead")).die()
        result = self.client("ls", server.url())
        self.assertEqual(result.code, DONE, str(result))
        entries = {event["name"]: event for event in result.events if event["event"] == "entry"}
        self.assertEqual(entries["file"]["size"], 10)
        self.assertEqual(entries["dead"]["type"], "directory")
        self.assertNotIn("mtime", entries["dead"])
        shown = self.client("ls", server.url(), json=False).stdout.splitlines()
        self.assertRegex(shown[0], r"^d\?{9} +\? +\?  dead$")
        self.assertEqual(len({line.rindex("  ") for line in shown}), 1, shown)


class Patient(ManyAtOnce):
    """Answers an MLST once so many have come."""

    def __init__(self, case, key_of, count):
        self.count, self.asked = count, 0
        super().__init__(case, key_of, [])

    def answer(self, stream, line):
        if not line.startswith(b"MLST"):
            return super().answer(stream, line)
        self.asked += 1
        if self.asked == self.count:
            stream.sendall(b"250-x\r\n type=file;size=1; x\r\n250 End\r\n" * self.count)
        return "MLST"


class Patterns(Case):
    def test_what_they_mean_is_asked_at_once(self):
        for words, code, errors in ((["checksum"], FILE_FAILED, 3), (["get", self.folder("into")], FILE_FAILED, 1)):
            with self.subTest(words=words):
                server = Patient(self, self.server(root=self.folder("root")), 3)
                result = self.client(words[0], *(server.url(name) for name in ("a*", "b?", "[c]")), *words[1:], seconds=20)
                self.assertEqual((result.code, len(result.errors)), (code, errors), str(result))
                self.assertIn("What?", result.said())


class Nonsense(Jobs):
    def impostor(self, **replies):
        made = Impostor(self, self.server(root=self.folder("root")), [])
        made.replies.update(replies)
        return made

    def test_a_listing_that_makes_no_sense(self):
        for line in ("type=file;size=-1; x", "type=file;size=1;size=1; x", "size=1; x", "type=file;size=1;"):
            with self.subTest(line=line):
                impostor = self.impostor(
                    MLST=["250-x", " type=dir; /", "250 End"],
                    MLSD=["250-list", " type=file;size=1; before", " " + line, " type=file;size=1; behind", "250 End"])
                for result in (self.client("ls", impostor.url("in")),
                               self.replicate(self.job_from(impostor.url("in/"), [self.folder("to")]), "plan")):
                    self.assertIn(result.code, (CUT, FILE_FAILED), str(result))
                    self.assertIn("what the server tells makes no sense", result.said())
                    self.assertIn("/in", result.said())

    def test_replies_that_are_no_success(self):
        late = ["150 busy", "550 no right"]
        impostor = self.impostor(DELE=late, MKD=late, RMD=late, RNFR=["350 go on"], RNTO=["350 go on"],
                                 CKSM=["350 " + "0" * 32], MLST=["250 ok"], MLSD=["350 go on"])
        x, y = impostor.url("x"), impostor.url("y")
        for words in (("rm", x), ("mkdir", x), ("rmdir", x), ("mv", x, y), ("checksum", x), ("stat", x),
                      ("ls", x)):
            with self.subTest(words=words):
                result = self.client(*words)
                self.assertIn(result.code, (CUT, FILE_FAILED), str(result))
                self.assertEqual(len(result.errors), 1, str(result))
