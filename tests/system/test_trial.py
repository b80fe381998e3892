"""lambda-ftp trial: legs, sweeps, and what comes out."""

import csv
import os
import socket

from harness import DONE, FILE_FAILED, MIB, NO_SESSION, USAGE, USER, Case, Process, Result, need_program, wait_for
from labs import LabCase
from pages import SCHEMES, PageCase

LEGS = ["read", "put-memory-memory", "put-memory-disk", "put-disk-memory", "put-disk-disk", "get-memory-memory",
        "get-memory-disk", "get-disk-memory", "get-disk-disk"]


def left_of_trials(*folders):
    return [name for folder in folders for name in os.listdir(folder) if "lambda-trial" in name]


def events(result, kind):
    return [event for event in result.events if event["event"] == kind]


def listens(host, port):
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True


class Trials(Case):
    def trial(self, server, *options, code=DONE, place=""):
        self.here = self.folder("here")
        result = self.client("trial", server.url(place), "--directory", self.here, *options)
        self.assertEqual(result.code, code, str(result))
        self.assertEqual(left_of_trials(self.here, server.root), [])
        self.assertIsNotNone(result.summary)
        return result

    def test_every_leg(self):
        server = self.server("--allow-null")
        table = os.path.join(self.scratch, "out.csv")
        result = self.trial(server, "--size", "4MiB", "--repetitions", "2", "--csv", table, place="below")
        self.assertEqual([case["leg"] for case in events(result, "case")], LEGS)
        for case in events(result, "case"):
            self.assertEqual(case["verdict"] is None, case["leg"] == "read")
        runs = events(result, "run")
        self.assertEqual([run["leg"] for run in runs], [leg for leg in LEGS for _ in range(2)])
        for run in runs:
            self.assertEqual(run["bytes"], 4 * MIB, run)
            self.assertAlmostEqual(run["gbit_per_s"], 8 * run["bytes"] / run["seconds"] / 1e9, delta=0.02 * run["gbit_per_s"])
            self.assertEqual(run["verdict"] is None, run["leg"] == "read")
            if run["leg"].startswith("get"):
                sender, receiver = run["verdict"]["sender"], run["verdict"]["receiver"]
                self.assertGreaterEqual(sender["sent_packets"], run["bytes"] // run["payload"], run)
                # Of the whole run, less what either end waited for a processor.
                self.assertGreater(sender["elapsed_us"], 0.95 * receiver["elapsed_us"] - 5000, run)
                self.assertAlmostEqual(run["sender_cpu_s_per_gb"], sender["cpu_us"] * 1e3 / run["bytes"], delta=1e-3)
        with open(table) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["leg"] for row in rows], [run["leg"] for run in runs])
        self.assertEqual(os.listdir(server.root), ["below"])
        self.assertEqual(os.listdir(server.path("below")), [])

    def test_a_sweep_is_compared_with_the_one_before(self):
        server = self.server("--allow-null")
        sweep = ("--legs", "memory-memory", "--size", "2MiB", "--stripes", "1,3", "--congestion", "sabul,cubic",
                 "--repetitions", "1")
        first = self.trial(server, *sweep)
        origin = first.events[0]
        self.assertEqual((origin["event"], origin["client"]), ("trial", socket.gethostname()))
        self.assertRegex(origin["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn(server.host, origin["server"])
        self.assertRegex(origin["version"], r"^\d+\.\d+")
        self.assertIn("lambda-ftp trial", origin["command"])
        cases = events(first, "case")
        self.assertEqual(len({case["key"] for case in cases}), 8)
        self.assertEqual({(case["stripes"], case["congestion"]) for case in cases},
                         {(n, law) for n in (1, 3) for law in ("sabul", "cubic")})
        for run in events(first, "run"):
            self.assertEqual(len(run["rates"]["stripes_mbit_per_s"]), run["stripes"])
        before = os.path.join(self.scratch, "before.json")
        with open(before, "w") as file:
            file.write(first.stdout)
        page = os.path.join(self.scratch, "page.html")
        again = self.trial(server, *sweep, "--compare", before, "--report", page)
        self.assertNotIn("another server", again.stderr)
        with open(page) as file:
            said = file.read()
        self.assertIn("times that", said)
        self.assertIn(again.events[0]["time"] + ", from ", said)
        with open(before, "w") as file:
            file.write(first.stdout.replace(origin["server"], "elsewhere:1"))
        some = list(sweep)
        some[some.index("1,3")] = "1,2"
        result = self.trial(server, *some, "--compare", before)
        self.assertEqual([(case["stripes"], case["before_gbit_per_s"] is None, case["told_apart"])
                          for case in events(result, "case")],
                         [(stripes, stripes == 2, None) for stripes in (1, 2)] * 4)
        self.assertIn("4 cases of " + before + " were not run this time", result.stderr)
        self.assertIn(before + " is of a trial with another server: elsewhere:1", result.stderr)
        summary, = events(result, "summary")
        self.assertEqual((summary["cases"], summary["runs"], summary["skipped"]), (8, 8, 0))

    def test_what_cannot_be_run_is_skipped_by_name(self):
        server = self.server()
        result = self.trial(server, "--size", "1MiB", "--repetitions", "1")
        self.assertEqual([event["leg"] for event in events(result, "skipped")],
                         ["put-memory-memory", "put-disk-memory", "get-memory-memory", "get-memory-disk"])
        self.assertIn("--allow-null", events(result, "skipped")[0]["why"])
        self.assertEqual(len(events(result, "case")), 5)
        self.assertEqual(os.listdir(server.root), [])  # no file of the name .null either
        result = self.trial(server, "--size", "1MiB", "--legs", "memory-memory", code=FILE_FAILED)
        self.assertEqual(len(events(result, "skipped")), 2)
        self.file_with(server.path("file"), b"")
        result = self.trial(server, "--size", "1MiB", "--legs", "put-disk-disk", place="file", code=FILE_FAILED)
        self.assertIn("/file/ (on the server): ", events(result, "skipped")[0]["why"])

    def test_no_output_takes_the_place_of_another_file(self):
        server = self.server("--allow-null")
        options = ("--size", "1MiB", "--legs", "read", "--repetitions", "1")
        before = os.path.join(self.scratch, "before")
        with open(before, "w") as file:
            file.write(self.trial(server, *options).stdout)
        kept = os.stat(before).st_mtime_ns
        for one, other in (("--compare", "--csv"), ("--compare", "--report"), ("--report", "--csv")):
            with self.subTest(one=one, other=other):
                result = self.client("trial", server.url(), *options, one, before, other, before)
                self.assert_failed(result, USAGE)
                self.assertIn(f"{before}: {one} and {other} are one file", result.stderr)
                self.assertEqual(os.stat(before).st_mtime_ns, kept)

    def test_a_server_out_of_reach_costs_no_earlier_results(self):
        page, lines = (self.file_with(os.path.join(self.scratch, name), b"of an earlier trial") for name in ("page", "csv"))
        result = self.client("trial", f"lambda://{USER}@127.0.0.1:1/", "--report", page, "--csv", lines)
        self.assert_failed(result, NO_SESSION)
        for kept in (page, lines):
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), b"of an earlier trial")

    def test_what_makes_no_sense_is_refused(self):
        server = self.server()
        wrong = os.path.join(self.scratch, "wrong")
        with open(wrong, "w") as file:
            file.write("no trial\n")
        for options in (["--legs", "tape"], ["--size", "0"], ["--stripes", "1,0"], ["--congestion", "sabul,,"],
                        ["--repetitions", "0"], ["--compare", wrong], ["--against", "rm"],
                        ["--against", "iperf3:0"], ["--against", "globus-url-copy:70000"]):
            with self.subTest(options):
                self.assert_failed(self.client("trial", server.url(), *options), USAGE)
        for folder in ("/no/such/folder", wrong):
            result = self.client("trial", server.url(), "--directory", folder)
            self.assert_failed(result, USAGE)
            self.assertIn(folder, result.stderr)
        self.assert_failed(self.client("trial", "."), USAGE)
        self.assert_failed(self.client("put", "--stripes", "1,2", wrong, server.url("x")), USAGE)
        self.assert_failed(self.client("trial", server.url(), "--report", "/no/such/folder/x"), FILE_FAILED)
        self.assert_failed(self.client("trial", f"lambda://{USER}@127.0.0.1:1/"), NO_SESSION)

    def test_beside_other_programs(self):
        server = self.server("--allow-null")
        options = ("--legs", "put-memory-memory", "--size", "256MiB", "--stripes", "2", "--repetitions", "1")
        for name, arguments in (
                ("iperf3", ["--server", "--bind", server.host, "--port"]),
                ("globus-url-copy", ["-aa", "-data-interface", server.host, "-control-interface", server.host,
                                     "-anonymous-user", "nobody", "-anonymous-group", "nogroup", "-c", "/dev/null",
                                     "-p"])):
            with self.subTest(name):
                need_program(name)
                program = need_program("globus-gridftp-server" if name.startswith("globus") else name)
                with socket.create_server((server.host, 0)) as place:
                    port = place.getsockname()[1]
                nobody = self.trial(server, *options, "--against", f"{name}:{port}")
                self.assertEqual([event["leg"] for event in events(nobody, "skipped")],
                                 [f"{name}:{port} put", f"{name}:{port} get"])
                self.assertIn(name + " did not run", events(nobody, "skipped")[0]["why"])
                peer = Process([program, *arguments, str(port)], env=self.environment)
                self.addCleanup(peer.kill)
                wait_for(lambda: listens(server.host, port), "its server", alive=peer.running)
                beside = events(self.trial(server, *options, "--against", f"{name}:{port}"), "beside")
                self.assertEqual([event["direction"] for event in beside], ["put", "get"])
                for event in beside:
                    self.assertGreater(event["bytes"], 192 * MIB, event)  # iperf3's buffers keep some
                    self.assertAlmostEqual(event["gbit_per_s"], 8e-9 * event["bytes"] / event["seconds"],
                                           delta=0.05 * event["gbit_per_s"])

    def test_what_another_program_says_may_be_no_figure(self):
        server = self.server("--allow-null")
        with open(os.path.join(self.folder("programs"), "iperf3"), "w") as script:
            script.write("#!/bin/sh\necho '{\"end\":{\"sum_received\":{\"bytes\":-1,\"seconds\":1,"
                         "\"bits_per_second\":1e300},\"sum_sent\":{\"retransmits\":-1}}}'\n")
        os.chmod(script.name, 0o755)
        self.environment["PATH"] = os.path.dirname(script.name) + ":" + self.environment["PATH"]
        result = self.trial(server, "--legs", "put-memory-memory", "--size", "1MiB", "--repetitions", "1",
                            "--against", "iperf3")
        self.assertEqual([event["why"].split(";")[0] for event in events(result, "skipped")],
                         ["iperf3 measured nothing"] * 2)

    def test_interrupted_it_leaves_nothing(self):
        server = self.server("--allow-null")
        here = self.folder("here")
        client = self.start("trial", server.url(), "--directory", here, "--legs", "put-disk-disk", "--size", "8MiB",
                            "--rate-limit", "8Mbit/s")
        self.wait_for_part(server.root, client)
        client.signal(2)
        self.assertEqual(client.wait(), 5)
        self.assertEqual(left_of_trials(here), [])
        client = self.start("trial", server.url(), "--directory", here, "--legs", "get-memory-disk", "--size", "64MiB",
                            "--rate-limit", "80Mbit/s")
        self.wait_for_part(here, client, at_least=16 * MIB)
        client.signal(2)
        self.assertEqual(client.wait(), 5)
        self.assertEqual(os.listdir(here), [])

    def test_what_the_disk_has_no_room_for_is_not_begun(self):
        result = self.trial(self.server(), "--legs", "read", "--size", "1000TiB", code=FILE_FAILED)
        self.assertIn("No space left", events(result, "skipped")[0]["why"])
        self.assertNotIn("--allow-null", result.stderr)

    def test_interrupted_beside_another_program(self):
        server = self.server("--allow-null")
        log, programs = os.path.join(self.scratch, "log"), self.folder("programs")
        nothing = os.path.join(programs, "nothing")
        os.mkfifo(nothing)
        with open(os.path.join(programs, "iperf3"), "w") as script:
            script.write(f"#!/bin/sh\necho $$ >> {log}\nexec cat {nothing}\n")
        os.chmod(script.name, 0o755)
        self.environment["PATH"] = programs + ":" + self.environment["PATH"]
        client = self.start("trial", server.url(), "--directory", self.folder("here"), "--legs", "put-memory-memory",
                            "--size", "1MiB", "--repetitions", "1", "--against", "iperf3")
        wait_for(lambda: os.path.exists(log) and os.path.getsize(log), "its beginning", alive=client.running)
        client.signal(2)
        self.assertEqual(client.wait(), 5)
        with open(log) as begun:
            programs = begun.read().split()
        self.assertEqual(len(programs), 1)
        self.assertFalse(os.path.exists(f"/proc/{programs[0]}"))


class InLab(LabCase):
    alone = True

    def test_the_figures_agree_with_the_counters_of_the_path(self):
        on, host, command, *ready = self.serving()
        run = self.lab("--rate", "200Mbit/s", "--rtt", "10ms", "--loss", "1%", on, host, command + " --allow-null", *ready,
                       main=self.ask("trial", self.remote(""), "--legs", "put-memory-memory", "--size", "64MiB",
                                     "--repetitions", "1", "--stripes", "2"))
        measured = events(Result(run), "run")[0]
        path = run.counters["forward"]
        # By bytes: the control session and the feedback are many small packets. A full one has 1440 of
        # the file in 1500.
        carried = measured["bytes"] + 1440 * measured["retransmitted_packets"]
        self.assertAlmostEqual(carried * 1500 / 1440 / path["offered_bytes"], 1, delta=0.01)
        # The path loses packets of TCP, too.
        lost = path["lost"] + path["dropped"]
        self.assertAlmostEqual(measured["lost_packets"] / lost, 1, delta=0.03)


class Report(PageCase):
    def test_page(self):
        server = self.server("--allow-null")
        result = self.client("trial", server.url(), "--legs", "put-memory-memory", "--size", "4MiB", "--stripes", "1,4",
                             "--congestion", "sabul,reno", "--repetitions", "2", "--rate-limit", "60Mbit/s",
                             "--report", self.page)
        self.assertEqual(result.code, DONE, str(result))
        # What reads without a script.
        with open(self.page, encoding="utf-8") as file:
            still = file.read().split("<script", 1)[0]
        for case in events(result, "case"):
            self.assertRegex(still, rf"<td>put-memory-memory, .* {case['stripes']} stripes?, {case['congestion']}, "
                                    rf".*<td class=n>{case['gbit_per_s']:.3f}<.*<td>[a-z]+( [a-z]+)*<")
        for scheme in SCHEMES:
            seen = self.look(scheme)
            self.check(seen, scheme)
            self.assertIn("put-memory-memory", seen["sections"])
            self.assertIn("What held it back", seen["sections"])
            self.assertIn("lambda-ftp trial", seen["command"])
            sweeps = [chart for chart in seen["charts"] if chart["title"] == "Goodput"]
            self.assertEqual([chart["points"] for chart in sweeps], [2 * 2])
            self.assertEqual([chart["legend"][:2] for chart in sweeps], [["sabul", "reno"]])
