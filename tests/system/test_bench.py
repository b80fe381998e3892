"""tools/bench: each part runs to its end, compares what arrived, and leaves nothing behind. No speed is judged here."""

import contextlib
import glob
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

from harness import Case, Process, Settings, need, need_isolation, need_program, sanitized, status_kib, wait_for

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
BENCH = os.path.join(TOOLS, "bench")
sys.path.append(TOOLS)

from bench_parts.lab import Failed, Run  # noqa: E402
from bench_parts.processes import run_to_end  # noqa: E402
from bench_parts.together import Together  # noqa: E402
from bench_parts.verdict import Verdicts  # noqa: E402

MET, MISSED, USAGE = 0, 1, 2


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return list(map(int, file.read().split()))


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return None


def in_memory(pid):
    """What a bench of that number has in /dev/shm."""
    return glob.glob(f"/dev/shm/lambda-bench-{pid}-*")


def direct(folder):
    """Whether files there may be read past the page cache."""
    path = os.path.join(folder, "probe")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    finally:
        os.unlink(path)
    return True


class Bench(Case):
    def setUp(self):
        super().setUp()
        need(not sanitized(), "a sanitizer's programs need more memory and time than a bench allows")
        need(os.path.isdir("/dev/shm"), "no /dev/shm")
        need_program("cmp")
        self.records_file = os.path.join(self.scratch, "records.json")

    def start(self, part, *options, path=None, usual_path=os.environ.get("PATH")):
        environment = dict(os.environ, TMPDIR=self.scratch)
        environment["PATH"] = os.pathsep.join(filter(None, [path, usual_path, Settings.tools_dir]))
        process = Process([sys.executable, BENCH, part, "--bin", Settings.bin_dir, "--json", self.records_file,
                           *options], env=environment)
        self.addCleanup(process.kill)
        return process

    def bench(self, part, *options, **how):
        """Its records by what they say; none says that the bench failed."""
        process = self.start(part, *options, **how)
        self.assertIn(process.wait(), (MET, MISSED), process.stdout[-3000:] + process.stderr[-3000:])
        self.assertTrue(os.path.exists(self.records_file), process.stdout[-3000:] + process.stderr[-3000:])
        with open(self.records_file) as file:
            records = {record["what"]: record for record in json.load(file)}
        if reason := records.get(part, {}).get("skipped"):
            self.skipTest(reason)
        self.assertFalse([record for record in records.values() if "error" in record])
        self.assertEqual(in_memory(process.pid), [])
        return records

    def test_segments(self):
        need_isolation()
        records = self.bench("segments", "--size", "4MiB", "--rounds", "1", "--seconds", "0.1")
        for end in ("client", "server"):
            self.assertNotIn("on", records[f"ethtool, {end}"]["offloads"].values())
            self.assertIn("generic-segmentation-offload", records[f"ethtool, {end}"]["offloads"])
        for way in ("single", "segment", "put", "get"):
            self.assertGreater(records[way]["gbit_per_s"], 0)
        self.assertIn("put, by raw UDP (single)", records)

    def test_micro(self):
        records = self.bench("micro", "--rounds", "1", "--seconds", "0.001")
        for step in ("seal_burst/aes-128-gcm/payload:1440", "open_burst/clear/payload:65475", "pacer_burst"):
            self.assertGreater(records[step]["ns"], 0)

    def test_micro_of_nothing(self):
        process = self.start("micro", "--filter", "no such step")
        code = process.wait()
        need("SKIPPED micro" not in process.stdout, "no libbenchmark-dev when this was built")
        self.assertEqual(code, MISSED, process.stderr)
        self.assertIn("FAIL micro: nothing is named no such step", process.stdout)

    def test_speed(self):
        process = self.start("speed", "buffers", "--rounds", "1", "--size", "4MiB", "--folder", self.scratch)
        self.assertIn(process.wait(), (MET, MISSED), process.stderr)
        with open(self.records_file) as file:
            records = json.load(file)
        self.assertEqual({record["part"] for record in records}, {"buffers"})
        self.assertRegex(process.stdout, r"\| buffers \| .* \| ≥ 0\.7 \|")
        self.assertFalse([record for record in records if "error" in record])

    def curl(self, script):
        """A folder with a curl that does this."""
        need_program("nginx")
        folder = self.folder("programs")
        with open(os.path.join(folder, "curl"), "w") as file:
            file.write(f'#!/bin/sh\n{script}\n')
        os.chmod(file.name, 0o755)
        return folder

    def wrong_curl(self):
        """It brings zeros."""
        return self.curl('while [ "$1" != -o ]; do shift; done; head -c 4194304 /dev/zero >"$2"')

    def test_memory(self):
        records = self.bench("memory", "--size", "4MiB", "--rounds", "1", "--seconds", "0.1")
        for part in ("nothing", "clear", "stored"):
            for verb in ("put", "get"):
                self.assertGreater(records[f"{part}: ours {verb}"]["gbit_per_s"], 0)
        for verb in ("put", "get"):
            self.assertGreater(records[f"nothing: {verb}, CPU s/GB of both ends"]["value"], 0)
            self.assertGreater(records[f"clear: zeros {verb}"]["gbit_per_s"], 0)
            self.assertGreater(records[f"clear: {verb} of zeros, by raw UDP"]["value"], 0)
            for peer, judged in (("curl HTTPS", "nothing"), ("globus 1", "clear"), ("rclone HTTP", "stored")):
                if peer not in records:  # else left out, and named
                    what = f"{judged}: {verb}, by {peer.removesuffix(' 1')}"
                    self.assertGreater(records[what]["value"], 0)

    def test_disk(self):
        folder = self.folder("disk")
        need(direct(folder), f"{folder} is of a file system without O_DIRECT")
        records = self.bench("disk", "--size", "4MiB", "--rounds", "1", "--folder", folder)
        for verb in ("put", "get"):
            self.assertGreater(records[f"disk: ours {verb}"]["gbit_per_s"], 0)
            for peer in ("dd direct", "cp"):
                self.assertGreater(records[f"disk: {verb}, by {peer}"]["value"], 0)
        self.assertEqual(os.listdir(folder), [])

    def test_what_arrives_wrong_in_memory_is_no_figure(self):
        process = self.start("memory", "nothing", "--size", "4MiB", "--rounds", "1", path=self.wrong_curl())
        self.assertEqual(process.wait(), MISSED, process.stderr[-3000:])
        self.assertIn("FAIL nothing: curl HTTPS get: WRONG", process.stdout)

    def test_what_does_not_arrive_again_is_no_figure(self):
        """What counts is no less looked at than what is compared before."""
        folder = self.curl(f'[ -e "$0.once" ] || {{ >"$0.once"; exec {need_program("curl")} "$@"; }}')
        process = self.start("memory", "stored", "--peers", "curl HTTPS", "--size", "4MiB", "--rounds", "1", path=folder)
        self.assertEqual(process.wait(), MISSED, process.stderr[-3000:])
        self.assertRegex(process.stdout, "FAIL stored: curl HTTPS get: WRONG: 0 of 4194304 bytes")

    def test_a_peer_that_fails_is_left_out(self):
        process = self.start("memory", "nothing", "--size", "4MiB", "--rounds", "1", path=self.curl("exit 7"))
        self.assertEqual(process.wait(), MISSED, process.stderr[-3000:])
        with open(self.records_file) as file:
            records = {record["what"]: record for record in json.load(file)}
        self.assertIn("ended with 7", records["nothing: curl HTTPS get"]["error"])
        for verb in ("put", "get"):
            self.assertGreater(records[f"nothing: ours {verb}"]["gbit_per_s"], 0)

    def test_killed_it_leaves_no_process_of_its_peers(self):
        need_program("nginx")
        process = self.start("memory", "nothing", "--size", "4MiB", "--rounds", "1000000")
        wait_for(lambda: {"lambda-ftpd", "nginx"} <= set(map(name_of, children(process.pid))), "both servers",
                 alive=process.running)
        started = children(process.pid)
        process.signal(signal.SIGKILL)
        process.wait()
        for folder in in_memory(process.pid):
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        wait_for(lambda: not any(map(name_of, started)), f"the end of {started}")

    def test_told_to_stop_it_leaves_nothing(self):
        """By whoever ends it, by Ctrl-C, or by a terminal that is closed."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.told_to_stop(number)

    def told_to_stop(self, number):
        process = self.start("memory", "nothing", "--size", "4MiB", "--rounds", "1000000")
        wait_for(lambda: "lambda-ftp" in map(name_of, children(process.pid)), "a client", alive=process.running)
        started = children(process.pid)
        process.signal(number)
        self.assertEqual(process.wait(), 128 + number)
        self.assertEqual(process.stderr, "")
        self.assertEqual(in_memory(process.pid), [])
        wait_for(lambda: not any(map(name_of, started)), f"the end of {started}")

    def test_what_arrives_wrong_is_no_figure(self):
        need_isolation()
        process = self.start("segments", "--size", "4MiB", "--rounds", "1", "--seconds", "0.1", path=self.wrong_curl())
        self.assertEqual(process.wait(), MISSED, process.stderr[-3000:])
        if "SKIPPED segments" in process.stdout:
            self.skipTest(process.stdout)
        self.assertIn("FAIL segments: curl: WRONG", process.stdout)

    def test_killed_it_leaves_no_process(self):
        """Nor, therefore, a namespace: these have no names, and go with the last process in them."""
        need_isolation()
        process = self.start("segments", "--size", "4MiB", "--rounds", "1000000", "--seconds", "0.1")

        def served():
            return [pid for pid in children(process.pid) if name_of(pid) == "lambda-ftpd"]
        try:
            wait_for(served, "its server", alive=process.running)
        except AssertionError:
            if "SKIPPED segments" in process.stdout:
                self.skipTest(process.stdout)
            raise
        started = children(process.pid)
        process.signal(signal.SIGKILL)
        process.wait()
        for folder in in_memory(process.pid):
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        wait_for(lambda: not any(map(name_of, started)), f"the end of {started}")

    def test_transfers(self):
        """Half of the memory holds the smallest ring of each: whoever comes first leaves some for the others."""
        records = self.bench("transfers", "--size", "12MiB", "--rounds", "1", "--counts", "1,12", "--memory", "96MiB",
                             "--stripes", "1")
        for verb in ("put", "get"):
            self.assertEqual(len(records[f"{verb}, 12"]["rates"]), 1)
            for judged in ("Jain's index", "the sum by one", "the server's peak by its setting"):
                self.assertGreater(records[f"{verb}, 12 at once: {judged}"]["value"], 0)

    def test_stripes(self):
        records = self.bench("stripes", "count", "--size", "4MiB", "--rounds", "1", "--counts", "1,3")
        for verb in ("put", "get"):
            self.assertGreater(records[f"count: {verb} 3"]["gbit_per_s"], 0)
            self.assertLessEqual(records[f"{verb}: the slowest number of stripes by the fastest"]["value"], 1)

    def test_huge(self):
        records = self.bench("huge", "--sparse", "1024GiB", "--size", "16MiB", "--small", "4MiB", "--rounds", "1")
        for verb in ("put", "get"):
            self.assertEqual(records[f"{verb}: arrived as it was"]["value"], 1)
            self.assertGreater(records[f"{verb}: CPU s/GB of 0.0167772 GB by that of 0.0041943 GB"]["value"], 0)

    def test_buffers(self):
        # 208 KiB are Linux' bound where nobody raised it; a gigabyte is beyond any.
        records = self.bench("buffers", "--size", "4MiB", "--rounds", "1", "--buffers", "64KiB,208KiB,1GiB")
        for verb in ("put", "get"):
            for kib in (64, 208):
                self.assertIn(f"{verb}, {kib} KiB: packets lost", records)
            self.assertIn("the kernel gives", records[f"{verb}, {1 << 20} KiB"]["skipped"])

    def test_jumbo(self):
        need_isolation()
        need(os.path.exists(os.path.join(Settings.tools_dir, "lambda-lab")), "lambda-lab was not built")
        records = self.bench("jumbo", "--size", "4MiB", "--rounds", "1", "--seconds", "0.2", "--rate", "1Gbit/s")
        for way in ("single", "segment", "put", "get"):
            self.assertGreater(records[way]["gbit_per_s"], 0)

    def test_who_hangs_is_ended(self):
        before = children(os.getpid())
        with self.assertRaisesRegex(Failed, "not within 0.2 s"):
            run_to_end(["sleep", "1000"], os.environ, 0.2)
        self.assertEqual(children(os.getpid()), before)

    def test_what_was_said_is_kept(self):
        """Whatever comes after; and where it can't be, nothing is begun."""
        verdicts = Verdicts(self.records_file)
        verdicts.note("a figure", value=1)
        with contextlib.redirect_stdout(io.StringIO()):
            verdicts.failed("another", "for a reason")
        with open(self.records_file) as file:
            self.assertEqual([record["what"] for record in json.load(file)], ["a figure", "another"])
        self.records_file = os.path.join(self.scratch, "nowhere", "records.json")
        process = self.start("memory", "--size", "4GiB")
        self.assertEqual(process.wait(), MISSED)
        self.assertIn("bench: " + self.records_file, process.stderr)
        self.assertNotIn("Traceback", process.stderr)
        self.assertEqual(process.stdout, "")

    def test_a_peak_is_of_the_program_alone(self):
        self.assertLess(run_to_end(["true"], os.environ, 60)["peak"], status_kib(os.getpid(), "VmHWM") / 1024 / 4)

    def test_what_a_late_lab_gave_is_asked_for_once_more(self):
        late = iter([True, False, True, True])
        lab = SimpleNamespace(run=lambda *_: Run(0, "", "", {"lab": {"strained": next(late)},
                                                             "forward": {"queue_mean_ms": 0}}, []))
        together = Together(lab, None, None, seconds=1, warm=0)
        self.assertFalse(together.run()["strained"])
        self.assertTrue(together.run()["strained"])
        self.assertEqual(list(late), [])

    def test_what_is_missing_is_named(self):
        for part in ("friendly", "small"):
            process = self.start(part, usual_path=None)
            self.assertEqual(process.wait(), MET, process.stderr)
            self.assertIn(f"SKIPPED {part}: ", process.stdout)

    def test_nobody_listens(self):
        read, write = os.pipe()
        os.close(read)
        bench = subprocess.run([sys.executable, BENCH, "--help"], stdout=write, stderr=subprocess.PIPE, text=True)
        os.close(write)
        self.assertEqual((bench.returncode, bench.stderr), (1, ""))

    def test_usage(self):
        """What a bench does not know it does not take for something else."""
        for words in (["nonsense"], ["huge", "nonsense"], ["memory", "nonsense"], ["disk", "nonsense"],
                      ["memory", "--peers", "nonsense"], ["memory", "--size", "0"], ["buffers", "--size", "much"],
                      ["transfers", "--counts", "0"], ["transfers", "--counts", "3", "--size", "4MiB"],
                      ["transfers", "--verbs", "putt"], ["segments", "--rounds", "0"], ["stripes", "nonsense"],
                      ["outage", "nonsense"], ["path", "--rounds", "0"], ["small", "--peers", "rsyncx,ours"]):
            with self.subTest(words):
                process = self.start(*words)
                self.assertEqual(process.wait(), USAGE, process.stderr)
                self.assertIn("bench", process.stderr)

    def test_programs_that_are_not_there(self):
        """Nor are others measured in their place."""
        process = self.start("memory", "--size", "4MiB", "--bin", self.scratch)
        self.assertEqual(process.wait(), MISSED)
        self.assertIn(f"bench: there is no {self.scratch}/lambda-ftp", process.stderr)
        self.assertNotIn("Traceback", process.stderr)
