"""Names are raw bytes."""

import os
import re
import shutil

from harness import DONE, FILE_FAILED, INTEGRITY, USAGE, USER, Case, Process, need_program

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
                self.transfer("get", self.daemon.url(b"sub/" + name), back)
                self.assert_same(source, os.path.join(os.fsencode(back), name))

    def test_each_command_takes_each_name(self):
        """Directories of such names, and files in them: all is found, moved, summed and removed."""
        def all_of(below=b""):
            return [self.daemon.url(name + below) for name in NAMES + NEWLINES]
        source = self.random_file("source", 3000)
        done = self.client("mkdir", *all_of())
        self.assertEqual(done.code, DONE, str(done))
        self.assertEqual(set(os.listdir(os.fsencode(self.daemon.root))), set(NAMES + NEWLINES))
        for name in NEWLINES:
            self.transfer("put", source, self.daemon.url(name + b"/" + name))
            self.assertEqual(self.client("mv", self.daemon.url(name + b"/" + name),
                                         self.daemon.url(name + b"/\n")).code, DONE)
            listed = self.client("ls", self.daemon.url(name))
            self.assertEqual([event["name"] for event in listed.events if "name" in event], ["\n"], str(listed))
            back = os.path.join(os.fsencode(self.scratch), name)
            self.transfer("get", self.daemon.url(name + b"/?"), back)
            self.assert_same(source, os.path.join(back, b"\n"))
        for name in NAMES:
            shutil.copy(source, self.daemon.path(name + b"/\n"))
        told = self.client("stat", *all_of(b"/\n"))
        self.assertEqual(told.code, DONE, str(told))
        self.assertEqual([event["size"] for event in told.events if "size" in event], [3000] * len(NAMES + NEWLINES))
        sums = self.client("checksum", *all_of(b"/\n"), source)
        self.assertEqual(sums.code, DONE, str(sums))
        self.assertEqual(len({event["digest"] for event in sums.events if "digest" in event}), 1)
        for command in (["rm", *all_of(b"/\n")], ["rmdir", *all_of()]):
            done = self.client(*command)
            self.assertEqual(done.code, DONE, str(done))
        self.assertEqual(os.listdir(self.daemon.root), [])
        gone = self.client("rm", self.daemon.url(b"two\nlines"))
        self.assert_failed(gone, FILE_FAILED)
        self.assertEqual(gone.errors[0]["path"], "/two\nlines")
        self.assertNotIn("?", gone.errors[0]["message"])

    def test_a_receipt_of_any_names_is_audited(self):
        names = NAMES + NEWLINES
        tree = os.fsencode(self.folder("tree"))
        for number, name in enumerate(names):
            os.mkdir(os.path.join(tree, name))
            self.file_with(os.path.join(tree, name, name), self.random.randbytes(1000 + number))
        receipt = os.path.join(self.scratch, "receipt.json")
        self.transfer("put", "--receipt", receipt, tree + b"/", self.daemon.url("two\nlines%0A"), files=len(names))
        for place in ((), ("--at", self.daemon.url("two\nlines%0A")), ("--at", tree)):
            result = self.client("audit", receipt, *place)
            self.assertEqual(result.code, DONE, str(result))
            self.assertEqual([event["good"] for event in result.events if event["event"] == "audit"], [len(names)])
        bad = self.daemon.path(b"two\nlines%0A/both\r\nof them\n/both\r\nof them\n")
        with open(bad, "r+b") as file:
            file.write(self.random.randbytes(16))
        gone = self.daemon.path(b"two\nlines%0A/carriage\rreturn/carriage\rreturn")
        os.unlink(gone)
        result = self.client("audit", receipt)
        self.assert_failed(result, INTEGRITY)
        self.assertEqual({os.fsencode(error["path"]) for error in result.errors},
                         {path[len(os.fsencode(self.daemon.root)):] for path in (bad, gone)})

    def test_a_listing_shows_every_name(self):
        for name in NAMES + NEWLINES:
            self.file_with(self.daemon.path(name), b"")
        result = self.client("ls", self.daemon.url())
        self.assertEqual(result.code, DONE, str(result))
        listed = {os.fsencode(event["name"]) for event in result.events if "name" in event}
        self.assertEqual(listed, set(NAMES + NEWLINES))
        self.assertIsNone(result.summary["verdict"])  # nothing was to be transferred

    def test_a_link_is_listed_with_what_it_holds(self):
        links = {"to file": "file", "dangling": "no/where", "out": "../../etc/passwd", "two\nlines": "a\r\nb -> c\udcff"}
        for name, target in links.items():
            os.symlink(os.fsencode(target), self.daemon.path(name))
        self.file_with(self.daemon.path("file"), b"1")
        result = self.client("ls", self.daemon.url())
        self.assertEqual({event["name"]: event.get("target") for event in result.events if event["event"] == "entry"},
                         {**links, "file": None}, str(result))
        told = self.client("stat", self.daemon.url("two\nlines"))
        self.assertEqual(told.events[0]["target"], links["two\nlines"], str(told))
        self.assertIn("  out -> ../../etc/passwd\n", self.client("ls", self.daemon.url(), json=False).stdout)

    def listed(self, place, **how):
        result = self.client("ls", place, **how)
        self.assertEqual(result.code, DONE, str(result))
        return [event["name"] for event in result.events if event["event"] == "entry"]

    def test_a_listing_of_a_name_or_a_pattern(self):
        url, path = self.daemon.url, self.daemon.path
        names = ("b", "a", "B", "ab", "a[1]", "a1", "\udcff")
        os.makedirs(path("runs/x"))
        os.mkdir(path("runs/y"))
        for name in names:
            self.file_with(path("runs/" + name), b"12")
        self.file_with(path("runs/x/f"), b"1")
        os.symlink("a", path("runs/to file"))
        os.symlink("runs", path("to directory"))
        os.symlink("no/where", path("dangling"))
        everything = sorted([*names, "x", "y", "to file"], key=os.fsencode)
        self.assertEqual(self.listed(url("runs")), everything)
        self.assertEqual(self.listed(url("to directory")), everything)
        for name in ("runs/a", "runs/to file", "dangling", "runs/a[1]"):
            self.assertEqual(self.listed(url(name)), ["/" + name])
        self.assertEqual(self.listed(url("runs/a*")), ["/runs/a", "/runs/a1", "/runs/a[1]", "/runs/ab"])
        self.assertEqual(self.listed(url("*/[xy]/*")), ["/runs/x/f", "/to directory/x/f"])
        os.unlink(path("runs/a[1]"))
        self.assertEqual(self.listed(url("runs/a[1]")), ["/runs/a1"])
        for place in ("none", "runs/none*", "none/*", "dangling/*", "runs/a/b"):
            failed = self.client("ls", url(place))
            self.assert_failed(failed, FILE_FAILED)
            self.assertEqual(failed.errors[0]["path"], "/" + place)

    def test_a_listing_breaks_no_line(self):
        for name in NEWLINES:
            self.file_with(self.daemon.path(name), b"")
            os.symlink(name, self.daemon.path(b"to " + name))
        shown = self.client("ls", self.daemon.url(), json=False).stdout
        self.assertEqual(len(shown.splitlines()), 2 * len(NEWLINES), shown)
        self.assertIn("  two\\nlines\n", shown)
        self.assertIn(r"  to carriage\x0dreturn -> carriage\x0dreturn", shown)
        told = self.client("stat", self.daemon.url("two\nlines"), json=False).stdout
        self.assertTrue(told.endswith("  /two\\nlines\n"), told)

    def test_a_server_is_called_by_host_and_port(self):
        server = self.daemon
        for place in (f"{USER}@{server.host}:{server.port}", f"lambda://{USER}@{server.host}:{server.port}"):
            self.assertEqual(self.client("ping", place).code, DONE)
        self.assert_failed(self.client("ping", f"{USER}@{server.host}:0"), USAGE)

    def test_completion_offers_what_the_command_takes(self):
        bash = need_program("bash")
        script = self.client("completion", "bash", json=False, password=False, trust=False).stdout

        def offered(*words):
            ask = f'{script}\nCOMP_WORDS=(lambda-ftp "$@"); COMP_CWORD=$#; _lambda_ftp; printf "%s\\n" "${{COMPREPLY[@]}}"'
            process = Process([bash, "-c", ask, "bash", *words], env=self.environment, cwd=self.folder("local"))
            self.assertEqual((process.wait(), process.stderr), (0, ""))
            return process.stdout.split()
        self.random_file("a file", 1)
        self.assertEqual(offered("pu"), ["put"])
        self.assertEqual(offered("--json", "chec"), ["checksum"])
        self.assertEqual(offered("put", "--dr"), [])
        self.assertEqual(offered("sync", "--d"), ["--digest", "--dry-run", "--delete", "--detach"])
        self.assertEqual(offered("--json", "get", "--ra"), ["--rate-file", "--range", "--rate-limit"])
        self.assertIn("--legs", offered("--"))
        self.assertEqual(offered("ls", "--st"), [])
        self.assertEqual(offered("put", "a"), [])  # names are the shell's own affair
        self.assertIn("complete -o default ", script)

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
        refused = self.client("mv", url("moved"), url("made here/"))
        self.assertEqual(refused.code, FILE_FAILED, str(refused))
        self.assertIn("DIRECTORY/NAME", refused.stderr)
        error, = self.client("mv", url("moved"), url("made here")).errors
        self.assertEqual(error["path"], "/moved")  # of which the server says it
        self.assertRegex(error["message"], "^cannot rename: .*where /made here is a directory")
        self.assertEqual(self.client("rm", url("moved")).code, DONE)
        self.assertFalse(os.path.exists(self.daemon.path("moved")))
        self.assertEqual(self.client("ping", url()).code, DONE)
        self.assert_failed(self.client("rm", url("moved")), FILE_FAILED)
        self.assert_failed(self.client("stat", url("moved")), FILE_FAILED)
        self.assertEqual(self.client("mkdir", url("made here/below")).code, DONE)
        self.assert_failed(self.client("rmdir", url("made here")), FILE_FAILED)
        self.assertEqual(self.client("rmdir", url("made here/below"), url("made here")).code, DONE)
        self.assertFalse(os.path.exists(self.daemon.path("made here")))
