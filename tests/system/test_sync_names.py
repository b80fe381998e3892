"""sync: files with several names, and links."""

import os
import shutil
import stat

from harness import FILE_FAILED, Result, wait_for
from syncs import SyncCase


class SyncNames(SyncCase):
    def test_further_names_of_what_stays(self):
        """They are files of their own then: what stands under the first name may hold anything."""
        source = self.small_tree()
        for name in ("b again", "sub/b too"):
            os.link(os.path.join(source, "b"), os.path.join(source, name))
        for option, when in (("--ignore-existing", 10**18), ("--update", 10**18 * 3)):
            with self.subTest(option):
                there = self.daemon.path(option[2:]).decode()
                os.makedirs(there)
                self.file_with(os.path.join(there, "b"), b"stays")
                os.utime(os.path.join(there, "b"), ns=(when, when))
                self.sync(option, source, self.daemon.url(option[2:]))
                with open(os.path.join(there, "b"), "rb") as file:
                    self.assertEqual(file.read(), b"stays")
                for name in ("b again", "sub/b too"):
                    self.assert_same(os.path.join(source, "b"), os.path.join(there, name))
                self.assertEqual(self.changes(self.sync(option, source, self.daemon.url(option[2:]))), [])

    def test_two_files_that_are_one_there(self):
        """Else each sync gave that one the mode of the other."""
        source, target = self.folder("tree"), os.fsdecode(self.daemon.path("to"))
        os.makedirs(target)
        for name, mode in (("a", 0o644), ("b", 0o600)):
            path = self.file_with(os.path.join(source, name), b"the same")
            os.utime(path, ns=(10**18, 10**18))
            os.chmod(path, mode)
        shutil.copy2(os.path.join(source, "a"), os.path.join(target, "a"))
        os.link(os.path.join(target, "a"), os.path.join(target, "b"))
        for changes in ({("replace", "b")}, set()):
            result = self.sync(source, self.daemon.url("to"))
            self.assertEqual(set(self.changes(result)) - {("attributes", ".")}, changes)
            self.assertEqual([os.stat(os.path.join(target, name)).st_mode & 0o777 for name in ("a", "b")], [0o644, 0o600])

    def test_names_of_two_files_that_are_one_there(self):
        """As many as each has at the source, or more."""
        source = self.folder("tree")
        for names, mode in (("ax", 0o600), ("by", 0o644)):
            path = self.file_with(os.path.join(source, names[0]), b"the same")
            os.utime(path, ns=(10**18, 10**18))
            os.chmod(path, mode)
            os.link(path, os.path.join(source, names[1]))
        for place, there in (("one", ("abxy",)), ("two", ("ab", "xy")), ("crossed", ("ay", "bx"))):
            with self.subTest(place):
                target = os.fsdecode(self.daemon.path(place))
                os.makedirs(target)
                for names in there:
                    first = os.path.join(target, names[0])
                    shutil.copy2(os.path.join(source, "b"), first)
                    for name in names[1:]:
                        os.link(first, os.path.join(target, name))
                self.sync(source, self.daemon.url(place))
                self.assertEqual(self.differences(source, target), b"")
                self.assertEqual(self.changes(self.sync(source, self.daemon.url(place))), [])

    def test_a_destination_that_is_a_link_is_never_replaced(self):
        source = self.small_tree()
        shown = os.path.join(self.home, "unmounted")
        outside = self.folder("outside")
        for name, to in (("gone", "nowhere"), ("out", outside), ("circle", "circle")):
            with self.subTest(name):
                link = self.daemon.path(name)
                os.symlink(to, link)
                for place in (name, name + "/"):
                    for options in (("--dry-run",), ()):
                        result = self.sync(*options, source, self.daemon.url(place), code=FILE_FAILED)
                        self.assertNotIn("create", [what for what, path in self.changes(result) if path in (".", "")])
                        self.assertEqual(os.readlink(link), os.fsencode(to))
        self.assertEqual(os.listdir(outside), [])
        link = os.path.join(self.home, "backup")
        os.symlink(shown, link)
        self.sync(source, self.daemon.url("copy"))
        self.sync(self.daemon.url("copy"), link, code=FILE_FAILED)
        self.assertEqual(os.readlink(link), shown)
        os.mkdir(shown)
        self.sync(self.daemon.url("copy"), link)
        self.assertEqual(self.differences(source, shown), b"")

    def test_a_file_with_further_names_that_is_replaced_on_the_way(self):
        """The others would get another file's content with it."""
        source = self.folder("tree")
        os.makedirs(os.path.join(source, "a"))
        for number in range(1000):
            self.random_file(f"a/{number}", 66_000, "tree")
        one, other = (os.path.join(source, name) for name in ("one", "other"))
        self.file_with(one, b"the old one")
        os.link(one, other)
        # So slow that what was found is half a minute ahead of what is read.
        rate = self.file_with(os.path.join(self.scratch, "rate"), b"10Mbit/s\n")
        process = self.start("sync", "--rate-file", rate, source, self.daemon.url("to"))
        wait_for(lambda: os.path.exists(self.daemon.path("to/a/1")), "one of the first files", alive=process.running)
        os.rename(self.file_with(os.path.join(self.home, "new"), b"another"), one)
        os.rename(self.file_with(rate + ".new", b"none\n"), rate)
        process.wait()
        result = Result(process)
        self.assertEqual(result.code, FILE_FAILED, str(result))
        for name in ("one", "other"):
            self.assertFalse(os.path.exists(self.daemon.path("to/" + name)), name)
            self.assertIn(name, [os.path.basename(error["path"]) for error in result.errors])

    def test_a_named_file_that_has_further_names_there(self):
        source, target = self.file_with(os.path.join(self.folder("local"), "a"), b"the same"), self.daemon.path("to")
        shutil.copy2(source, target)
        os.link(target, self.daemon.path("another"))
        os.chmod(source, 0o600)
        before = os.stat(self.daemon.path("another")).st_mode
        self.assertEqual(self.changes(self.sync(source, self.daemon.url("to"))), [("replace", "a")])
        self.assertEqual(os.stat(self.daemon.path("another")).st_mode, before)
        self.assertEqual(stat.S_IMODE(os.stat(target).st_mode), 0o600)
