"""--rate-limit by the time of the day, and --rate-file, which changes a running transfer."""

import os
import threading

from harness import DONE, MIB, USAGE, Case, parts_below, wait_for

SIZE = 32 * MIB  # at the slow rate a transfer of it takes more than 20 minutes


class RateLimits(Case):
    def change_in_mid_transfer(self, direction, folder, *places):
        rate = self.file_with(os.path.join(self.scratch, "rate"), b"200kbit/s\n")
        client = self.start(direction, "--rate-file", rate, *places)
        wait_for(lambda: parts_below(folder), "a partial file", alive=client.running)
        self.file_with(rate + ".new", b"as fast as it goes\n")
        os.rename(rate + ".new", rate)
        wait_for(lambda: "not a rate" in client.stderr, "a word about the bad file", alive=client.running)
        self.assertTrue(client.running())
        self.file_with(rate + ".new", b"# at night\nnone\n")
        os.rename(rate + ".new", rate)
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assertIn("now not limited", client.stderr)

    def test_a_put_goes_faster_once_the_file_says_so(self):
        server = self.server()
        source = self.random_file("file", SIZE)
        self.change_in_mid_transfer("put", server.root, source, server.url("file"))
        self.assert_same(source, server.path("file"))

    def test_a_get_goes_faster_once_the_file_says_so(self):
        server = self.server()
        source = self.random_file("file", SIZE, folder="root")
        back = self.folder("back")
        self.change_in_mid_transfer("get", back, server.url("file"), back)
        self.assert_same(source, os.path.join(back, "file"))

    def test_a_timetable_is_understood_or_refused(self):
        server = self.server()
        source = self.random_file("file", 100_000)
        self.transfer("put", "--rate-limit", "00:00-12:00 900Mbit/s, 12:00-00:00 max", source, server.url("file"))
        self.assert_same(source, server.path("file"))
        for bad, word in (("08:00-18:00 200Mbit/s, 18:00-25:00 max", "entry 2"), ("08:00-09:00", "not a rate"),
                          ("08:00-18:00 1Mbit/s, 17:00-19:00 max", "overlaps"), ("0", "out of range")):
            result = self.client("put", "--rate-limit", bad, source, server.url("file"))
            self.assert_failed(result, USAGE)
            self.assertIn(word, result.said())
        pipe = os.path.join(self.scratch, "pipe")
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: self.file_with(pipe, b"400Mbit/s\n"))
        writer.start()
        self.transfer("put", "--rate-file", pipe, source, server.url("by-a-pipe"))
        writer.join()
        missing = self.client("put", "--rate-file", os.path.join(self.scratch, "none"), source, server.url("x"))
        self.assert_failed(missing, USAGE)
        both = self.client("put", "--rate-file", source, "--rate-limit", "1Mbit/s", source, server.url("x"))
        self.assert_failed(both, USAGE)
        self.assertFalse(os.path.exists(server.path("x")))
