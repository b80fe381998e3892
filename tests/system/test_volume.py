"""Volume over stripes: identical, within bounds of memory, through io_uring alone."""

import os
import re

from harness import DONE, FILE_FAILED, MIB, Case, Settings, need, need_program, sanitized, support_program

MOST_MEMORY_MIB = 320


class Volume(Case):
    def assert_within_memory(self, server, *results):
        if sanitized():
            return
        for result in results:
            self.assertLessEqual(result.peak_mib, MOST_MEMORY_MIB, "the client's memory")
        self.assertLessEqual(server.peak_now_mib(), MOST_MEMORY_MIB, "the server's memory")

    def there_and_back(self, stripes):
        size = (64 if sanitized() else 4096 if Settings.long else 256) * MIB
        server = self.server()
        source = self.random_file("large", size)
        seconds = 60 + size / (10 * MIB)
        put = self.transfer("put", "--stripes", str(stripes), source, server.url("large"), seconds=seconds)
        self.assert_same(source, server.path("large"))
        target = os.path.join(self.folder("back"), "large")
        got = self.transfer("get", "--stripes", str(stripes), server.url("large"), target, seconds=seconds)
        self.assert_same(source, target)
        for result in (put, got):
            self.assertEqual(result.summary["bytes"], size)
            self.assertEqual(len(result.summary["stripes"]), stripes)
        self.assert_within_memory(server, put, got)

    def test_one_stripe(self):
        self.there_and_back(1)

    def test_four_stripes(self):
        self.there_and_back(4)

    def test_sixteen_stripes(self):
        self.there_and_back(16)


class InMemory(Case):
    """tmpfs: faster than any disk, and without O_DIRECT on older kernels."""
    scratch_in = "/dev/shm"

    @classmethod
    def setUpClass(cls):
        need(os.path.isdir(cls.scratch_in), "no /dev/shm")

    def test_there_and_back(self):
        server = self.server()
        source = self.random_file("large", 128 * MIB)
        self.transfer("put", source, server.url("large"))
        self.assert_same(source, server.path("large"))
        target = os.path.join(self.folder("back"), "large")
        self.transfer("get", server.url("large"), target)
        self.assert_same(source, target)


class Buffers(Case):
    def test_small_socket_buffers(self):
        server = self.server(settings={"socket_buffer": "208KiB"})
        source = self.random_file("large", 48 * MIB)
        target = os.path.join(self.folder("back"), "large")
        self.transfer("put", "--socket-buffer", "208KiB", source, server.url("large"))
        self.assert_same(source, server.path("large"))
        self.transfer("get", "--socket-buffer", "208KiB", server.url("large"), target)
        self.assert_same(source, target)

    def test_other_sizes_of_blocks_and_packets(self):
        server = self.server()
        source = self.random_file("large", 20 * MIB + 77)
        for options in (("--block-size", "4MiB"), ("--payload", "512"), ("--payload", "1440"),
                        ("--cipher", "chacha20-poly1305"), ("--syn", "50ms"), ("--congestion", "sabul2003"),
                        ("--congestion", "fixed", "--rate-limit", "400Mbit/s"), ("--memory", "96MiB")):
            with self.subTest(options=options):
                self.transfer("put", *options, source, server.url("large"))
                self.assert_same(source, server.path("large"))


class Virtual(Case):
    """/.zero and /.null, where they are offered."""

    def test_zeros_and_nothing(self):
        server = self.server("--allow-null")
        source = self.random_file("large", 20 * MIB)
        self.assertEqual(self.client("put", source, server.url(".null")).code, DONE)
        target = os.path.join(self.folder("back"), "zeros")
        self.assertEqual(self.client("get", server.url(".zero/5MiB"), target).code, DONE)
        with open(target, "rb") as file:
            self.assertEqual(file.read(), bytes(5 * MIB))
        self.assertEqual(os.listdir(server.root), [])

    def test_not_unless_they_are_allowed(self):
        server = self.server()
        self.assert_failed(self.client("get", server.url(".zero"), self.folder("back")), FILE_FAILED)


class DiskPath(Case):
    # What moves bytes between a descriptor and memory or another descriptor, and mmap.
    TRACED = ("read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,sendfile,"
              "copy_file_range,splice,mmap,io_uring_setup")

    def strace(self, name):
        need(not sanitized(), "a sanitizer's own calls would be traced too")
        log = os.path.join(self.scratch, name)
        return log, [need_program("strace"), "-f", "-y", "-qq", "-e", "trace=" + self.TRACED,
                     "-e", "signal=none", "-s", "0", "-o", log]

    def assert_only_uring(self, log, folders):
        with open(log, errors="surrogateescape") as file:
            lines = file.readlines()
        self.assertTrue(any("io_uring_setup(" in line and "= -1" not in line for line in lines),
                        "io_uring was never set up: " + log)
        data = re.compile(r"\d+<(" + "|".join(map(re.escape, folders)) + r")/[^>]*(large|\.part)(\(deleted\))?>")
        guilty = [line for line in lines if data.search(line)]
        self.assertEqual(guilty[:5], [], "file data went past io_uring")

    def test_file_data_goes_through_io_uring_alone(self):
        size = 64 * MIB
        source = self.random_file("large", size)
        local, root, back = self.folder("local"), self.folder("root"), self.folder("back")
        server_log, launcher = self.strace("server.strace")
        server = self.server(root=root, launcher=launcher)
        for number, arguments in enumerate((("put", source, server.url("large")),
                                            ("get", server.url("large"), os.path.join(back, "large")))):
            log, launcher = self.strace(f"client-{number}.strace")
            result = self.client(*arguments, launcher=launcher)
            self.assertEqual(result.code, DONE, str(result))
            self.assert_only_uring(log, [local, back])
        self.assert_same(source, os.path.join(back, "large"))
        server.kill()
        self.assert_only_uring(server_log, [root])

    def test_several_reads_and_writes_are_in_flight(self):
        server = self.server(settings={"log_level": "debug"})
        source = self.random_file("large", 256 * MIB)
        put = self.transfer("put", "--log-level", "debug", source, server.url("large"))
        got = self.transfer("get", "--log-level", "debug", server.url("large"),
                            os.path.join(self.folder("back"), "large"))
        depth = re.compile(r"mean queue depth[^0-9\n]*([0-9.]*[0-9])")
        # How many writes wait for a disk that is faster than what arrives, nobody can choose.
        for who, said, least in (("client that sends", put.stderr, 4), ("client that receives", got.stderr, 1),
                                 ("server", server.stderr + server.stdout, 4)):
            found = [float(number) for number in depth.findall(said)]
            self.assertTrue(found, f"no mean queue depth in the log of the {who}")
            self.assertGreaterEqual(max(found), least, f"of the {who}: {found}")

    def test_without_io_uring(self):
        launcher = [support_program("without_uring")]
        server = self.server(launcher=launcher)
        source = self.random_file("large", 48 * MIB + 12_345)
        target = os.path.join(self.folder("back"), "large")
        put = self.transfer("put", source, server.url("large"), launcher=launcher)
        self.assert_same(source, server.path("large"))
        got = self.transfer("get", server.url("large"), target, launcher=launcher)
        self.assert_same(source, target)
        for result in (put, got):
            said = [line for line in result.stderr.splitlines() if "io_uring" in line]
            self.assertEqual(len(said), 1, "said once: " + result.stderr)
        said = [line for line in server.stderr.splitlines() if "io_uring" in line]
        self.assertEqual(len(said), 1, "said once: " + server.stderr)
