"""Names are raw bytes."""

import os
import re

from harness import DONE, FILE_FAILED, USAGE, Case

NAMES = (
    b"with blanks in it", b" before and after ", b"-leading-dash", b"--json", b"x" * 255,
    b"invalid \xff\xfe\x80 UTF-8", "größer, 日本".encode(), b"a=b;c=d; e", b"percent%41%", b"quote\"'\\",
    b"tab\tand\x01control", b"*?[x]", b"~", b"host:name",
)
NEWLINES = (b"two\nlines", b"carriage\rreturn", b"both\r\nof them\n")


class Names(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def test_put_and_get(self):
        back = self.folder("back")
        for name in NAMES + NEWLINES:
            with self.subTest(name=name):
                source = self.random_file(name, 3000)
                self.transfer("put", source, self.daemon.url("sub") + "/")
                self.assert_same(source, self.daemon.path(b"sub/" + name))
                if name in NEWLINES:
                    continue
                self.transfer("get", self.daemon.url(b"sub/" + name), back)
                self.assert_same(source, os.path.join(os.fsencode(back), name))

    def test_names_with_newlines_can_be_got(self):
        back = self.folder("back")
        for name in NEWLINES:
            with self.subTest(name=name):
                source = self.file_with(self.daemon.path(name), self.random.randbytes(5000))
                self.transfer("get", self.daemon.url(name), back)
                self.assert_same(source, os.path.join(os.fsencode(back), name))

    def test_names_with_newlines_are_refused_by_commands(self):
        for name in NEWLINES:
            self.file_with(self.daemon.path(name), b"content")
            url = self.daemon.url(name)
            for command in (["mkdir", self.daemon.url(name + b"-new")], ["rm", url], ["stat", url],
                            ["checksum", url], ["mv", url, self.daemon.url("plain")]):
                with self.subTest(command=command[0], name=name):
                    result = self.client(*command)
                    self.assertIn(result.code, (FILE_FAILED, USAGE), str(result))
                    self.assertRegex(result.said(), re.compile(r"line|CR|LF", re.I))
        self.assertEqual(sorted(os.listdir(os.fsencode(self.daemon.root))), sorted(NEWLINES))

    def test_a_listing_shows_every_name(self):
        for name in NAMES + NEWLINES:
            self.file_with(self.daemon.path(name), b"")
        result = self.client("ls", self.daemon.url())
        self.assertEqual(result.code, DONE, str(result))
        listed = {os.fsencode(event["name"]) for event in result.events if "name" in event}
        self.assertEqual(listed, set(NAMES + NEWLINES))

    def test_a_relative_name_with_a_dash(self):
        self.random_file("-q", 100)
        self.transfer("put", "--", "-q", self.daemon.url("-q"), cwd=self.folder("local"))
        self.assert_same(os.path.join(self.folder("local"), "-q"), self.daemon.path("-q"))

    def test_a_colon_after_a_slash_is_local(self):
        self.random_file("with:colon", 200)
        self.transfer("put", "./with:colon", self.daemon.url("landed"), cwd=self.folder("local"))
        self.assertEqual(os.path.getsize(self.daemon.path("landed")), 200)

    def test_the_commands(self):
        source = self.random_file("content", 2_500_000)
        url = self.daemon.url
        self.assertEqual(self.client("mkdir", url("made here")).code, DONE)
        self.assertTrue(os.path.isdir(self.daemon.path("made here")))
        self.transfer("put", source, url("made here"))
        self.assertEqual(self.client("stat", url("made here/content")).code, DONE)
        remote = self.client("checksum", url("made here/content"))
        local = self.client("checksum", source)
        self.assertEqual((remote.code, local.code), (DONE, DONE), str(remote) + str(local))
        digests = [set(re.findall(r"\b[0-9a-f]{32}\b", each.stdout)) for each in (remote, local)]
        self.assertEqual(digests[0], digests[1])
        self.assertEqual(len(digests[0]), 1)
        self.assertEqual(self.client("mv", url("made here/content"), url("moved")).code, DONE)
        self.assert_same(source, self.daemon.path("moved"))
        self.assertEqual(self.client("rm", url("moved")).code, DONE)
        self.assertFalse(os.path.exists(self.daemon.path("moved")))
        self.assertEqual(self.client("ping", url()).code, DONE)
        self.assert_failed(self.client("rm", url("moved")), FILE_FAILED)
        self.assert_failed(self.client("stat", url("moved")), FILE_FAILED)
        self.assertEqual(self.client("mkdir", url("made here/below")).code, DONE)
        self.assert_failed(self.client("rmdir", url("made here")), FILE_FAILED)
        self.assertEqual(self.client("rmdir", url("made here/below"), url("made here")).code, DONE)
        self.assertFalse(os.path.exists(self.daemon.path("made here")))
