"""Where files land, what they replace, and what they keep."""

import os
import stat

from disks import loop_device
from harness import FILE_FAILED, MIB, USAGE, Case, need, need_isolation


class Landing(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def test_several_files_to_a_directory(self):
        sources = [self.random_file(f"file {number}", 1000 * number) for number in range(20)]
        self.transfer("put", *sources, self.daemon.url("new/deep"), files=20)
        for number, source in enumerate(sources):
            self.assert_same(source, self.daemon.path(f"new/deep/file {number}"))
        back = os.path.join(self.folder("back"), "also", "new")
        self.transfer("get", *(self.daemon.url(f"new/deep/file {number}") for number in range(20)), back, files=20)
        for number, source in enumerate(sources):
            self.assert_same(source, os.path.join(os.fsencode(back), b"file %d" % number))

    def test_an_existing_directory_takes_the_file(self):
        source = self.random_file("name", 5000)
        os.mkdir(self.daemon.path("there"))
        self.transfer("put", source, self.daemon.url("there"))
        self.assert_same(source, self.daemon.path("there/name"))
        self.transfer("get", self.daemon.url("there/name"), self.folder("back"))
        self.assert_same(source, os.path.join(self.folder("back"), "name"))

    def test_a_slash_makes_a_directory(self):
        source = self.random_file("name", 5000)
        self.transfer("put", source, self.daemon.url("made") + "/")
        self.assert_same(source, self.daemon.path("made/name"))
        self.transfer("get", self.daemon.url("made/name"), self.folder("back") + "/sub/")
        self.assert_same(source, os.path.join(self.folder("back"), "sub/name"))

    def test_dots_that_mean_the_directory_itself(self):
        source = self.random_file("name", 5000)
        back = self.folder("back")
        for number, name in enumerate(("a/./b/", "c/./", "e/.//./f/./name")):
            self.transfer("put", source, self.daemon.url(f"{number}/./{name}"))
            there = f"{number}/{name}" + ("" if name.endswith("name") else "/name")
            self.assert_same(source, self.daemon.path(there))
            self.transfer("get", self.daemon.url(there), f"{back}/{number}/./{name}")
            self.assert_same(source, f"{back}/{there}")

    def test_modes_and_times_are_kept(self):
        back = self.folder("back")
        for mode, mtime_ns in ((0o640, 1_234_567_890_123_456_789), (0o755, 1_000_000_000), (0o444, 1)):
            with self.subTest(mode=oct(mode)):
                name = f"mode-{mode:o}"
                source = self.random_file(name, 100_000)
                os.chmod(source, mode)
                os.utime(source, ns=(0, mtime_ns))
                self.transfer("put", source, self.daemon.url(name))
                self.transfer("get", self.daemon.url(name), back)
                for copy in (self.daemon.path(name), os.path.join(os.fsencode(back), os.fsencode(name))):
                    kept = os.stat(copy)
                    self.assertEqual(stat.S_IMODE(kept.st_mode), mode)
                    self.assertEqual(kept.st_mtime_ns, mtime_ns)

    def test_an_existing_file_is_replaced_by_a_rename(self):
        old = self.file_with(self.daemon.path("target"), b"the old content")
        os.link(old, self.daemon.path("kept"))
        source = self.random_file("new", 2_000_000)
        self.transfer("put", source, self.daemon.url("target"))
        self.assert_same(source, self.daemon.path("target"))
        with open(self.daemon.path("kept"), "rb") as file:
            self.assertEqual(file.read(), b"the old content")

    def test_a_device_is_written_in_place(self):
        need_isolation()
        device = os.path.join(self.folder("back"), "null")
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        source = self.file_with(self.daemon.path("source"), self.random.randbytes(3_000_000))
        result = self.client("get", self.daemon.url("source"), device)
        self.assertEqual(result.code, 0, str(result))
        self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))
        self.assertTrue(os.path.exists(source))

    def test_holes_are_zeros_on_a_device(self):
        before = b"\xaa" * (8 * MIB)
        device = loop_device(self, before)
        node = self.daemon.path("device")
        os.mknod(node, 0o600 | stat.S_IFBLK, os.stat(device).st_rdev)
        for size, data in ((6 * MIB + 1000, (0, 4 * MIB)), (5 * MIB, (2 * MIB,)), (40_000, ()), (50_000, (0,))):
            source = self.daemon.path(f"of {size}")
            with open(source, "wb") as file:
                file.truncate(size)
                for at in data:
                    file.seek(at)
                    file.write(self.random.randbytes(min(MIB, size)))
            with open(source, "rb") as file:
                expected = file.read() + before[size:]
            for arguments in (("get", self.daemon.url(f"of {size}"), device),
                              ("get", "--verify", "readback", self.daemon.url(f"of {size}"), device),
                              ("put", source, self.daemon.url("device"))):
                with self.subTest(size=size, arguments=arguments[:2]):
                    with open(device, "wb") as file:
                        file.write(before)
                    self.transfer(*arguments)
                    with open(device, "rb") as file:
                        self.assertEqual(file.read() == expected, True, "the device holds something else")

    def test_one_bad_source_does_not_stop_the_others(self):
        good = [self.random_file(f"good-{number}", 50_000) for number in range(3)]
        missing = os.path.join(self.folder("local"), "missing")
        result = self.client("put", good[0], missing, good[1], good[2], self.daemon.url("into"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(result.summary["files"], 3, str(result))
        for number, source in enumerate(good):
            self.assert_same(source, self.daemon.path(f"into/good-{number}"))
        self.assertIn("missing", result.stdout + result.stderr)

        back = self.folder("back")
        result = self.client("get", self.daemon.url("into/good-0"), self.daemon.url("into/missing"), back)
        self.assert_failed(result, FILE_FAILED)
        self.assert_same(good[0], os.path.join(back, "good-0"))
        self.assertEqual(os.listdir(back), ["good-0"])

    def test_what_was_not_done_is_written_down(self):
        good = self.random_file("good", 50_000)
        missing = os.path.join(self.folder("local"), "mis\nsing")
        left_over = os.path.join(self.scratch, "left-over")
        result = self.client("put", "--left-over", left_over, good, missing, self.daemon.url("into"))
        self.assert_failed(result, FILE_FAILED)
        with open(left_over, "rb") as file:
            self.assertEqual(file.read(), os.fsencode(missing) + b"\0")

    def test_what_is_made_as_it_is_read_is_named_so(self):
        for made in ("/proc/self/status", "/sys/class/net/lo/mtu"):
            with self.subTest(made):
                need(os.path.exists(made), "there is no " + made)
                result = self.client("put", made, self.daemon.url("made"))
                self.assert_failed(result, FILE_FAILED)
                self.assertIn("write what it gives into a file first", result.said())

    def test_a_wrong_command_line(self):
        source = self.random_file("source", 10)
        for arguments in (("put", source), ("put", "--stripes", "0", source, self.daemon.url("x")),
                          ("put", "--stripes", "many", source, self.daemon.url("x")),
                          ("put", "--rate-limit", "5 parsecs", source, self.daemon.url("x")),
                          ("put", "--protection", "none", source, self.daemon.url("x")),
                          ("put", "--no-such-option", source, self.daemon.url("x")), ("launch",),
                          ("put", source, "lambda://host:0x/"), ("get", source, source),
                          ("get", self.daemon.url("x"), "-"), ("put", "-", self.daemon.url("x"))):
            with self.subTest(arguments=arguments):
                self.assert_failed(self.client(*arguments), USAGE)
        self.assert_failed(self.client("put", "--congestion", "no-such-law", source, self.daemon.url("x")), USAGE)
        self.assertFalse(os.path.exists(self.daemon.path("x")))
