"""lambda-lab: the path is what it was asked to be, and nothing of it is left behind."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

from cgroups import Cgroup
from harness import KIB, MIB, Process, need, need_program, patience, wait_for
from labs import UNABLE, USAGE, LabCase, peer


class Lab(LabCase):
    alone = True

    def fifo(self, name):
        path = os.path.join(self.logs, name)
        os.mkfifo(path)
        return path

    def gathered(self):
        with open(os.path.join(self.logs, "gathered")) as file:
            return json.load(file)

    # The path

    def round_trip_ms(self, *options, address="$LAB_HOST_server"):
        run = self.lab(*options, "--on", "server", peer("echo"), "--ready", "server", "ready",
                       main=peer("round_trips", address, 40))
        times = json.loads(run.stdout)
        self.assertEqual(len(times), 40)
        return min(times) * 1e3  # the one that the machine's other work disturbed least

    def check_round_trip(self, wanted, *options, **more):
        """At most a millisecond more than it should be, in one run of a few: a busy machine is late, never early."""
        found = []
        while len(found) < 6 and (not found or found[-1] > wanted + patience(1)):
            found.append(self.round_trip_ms(*options, **more))
            self.assertGreaterEqual(found[-1], wanted)
        self.assertLessEqual(found[-1], wanted + patience(1), f"{options} {more}: {found}")

    def test_the_round_trip(self):
        for address in ("$LAB_HOST_server", "$LAB_HOST6_server"):
            self.check_round_trip(30, "--rtt", "30ms", address=address)

    def test_hosts_at_their_own_distances(self):
        path = self.path("bottleneck: {rate: 1Gbit/s, delay: 2ms, backward: {delay: 5ms}}\n"
                         "hosts:\n"
                         "  - {name: near, side: left, delay: 1ms}\n"
                         "  - {name: far, side: left, delay: 20ms}\n"
                         "  - {name: server, side: right, delay: 3ms}\n")
        for host, wanted in (("near", 2 * 4 + 7), ("far", 2 * 23 + 7)):
            self.check_round_trip(wanted, path, "--in", host)

    def test_loss_is_what_the_counters_say(self):
        self.fifo("done")
        count = 20_000
        run = self.lab("--loss", "5%", "--loss-burst", "3", "--duplicate", "1%", "--on", "server", peer("gather", 1),
                       "--ready", "server", "ready",
                       main=f"{peer('shower', '$LAB_HOST_server', count, 100, 0.00002)[5:]} && "
                            "cat $LAB_LOGS/done")
        forward = run.counters["forward"]
        seen = [number for number, _ in self.gathered()]
        self.assertEqual(forward["offered_packets"], count)
        self.assertEqual(forward["dropped"], 0)
        self.assertEqual(count - len(set(seen)), forward["lost"])
        self.assertEqual(len(seen) - len(set(seen)), forward["duplicated"])
        # 333 bursts: their number and length make the deviation 8 %.
        self.assertAlmostEqual(forward["lost"] / count, 0.05, delta=0.02)
        self.assertAlmostEqual(forward["duplicated"] / count, 0.01, delta=0.005)
        losses = sorted(set(range(count)) - set(seen))
        bursts = sum(1 for at, number in enumerate(losses) if at == 0 or losses[at - 1] != number - 1)
        self.assertAlmostEqual(len(losses) / bursts, 3, delta=1)

    def test_a_full_queue_drops(self):
        """More than the rate: the queue is full, what passes is the rate, the rest is dropped."""
        run = self.lab("--rate", "10Mbit/s", "--queue", "50kB", "--on", "server", peer("gather", 1),
                       "--ready", "server", "ready",
                       main=peer("shower", "$LAB_HOST_server", 6000, 1400, 0.0002))
        forward = run.counters["forward"]
        self.assertGreater(forward["dropped"], 400)
        self.assertGreater(forward["utilisation"], 0.7)  # the begin of Python counts as time
        self.assertLess(forward["utilisation"], 1.01)
        self.assertGreater(forward["queue_mean_bytes"], 30_000)
        self.assertLessEqual(forward["queue_p95_bytes"], 50_100)
        self.assertAlmostEqual(forward["queue_mean_ms"], forward["queue_mean_bytes"] * 8 / 10e6 * 1e3, delta=0.1)

    def test_tcp_at_the_rate_and_whole(self):
        """With and without packets that stay together between kernel and lab."""
        size = 12 * MIB
        for offload in ("udp", "tcp", "none"):
            run = self.lab("--rate", "100Mbit/s", "--rtt", "10ms", "--loss", "1e-4", "--offload", offload,
                           "--on", "server", peer("serve", size, self.seed), "--ready", "server", ":7000",
                           main=peer("fetch", "$LAB_HOST_server", size, self.seed))
            found = json.loads(run.stdout)
            self.assertTrue(found["same"])
            self.assertGreaterEqual(found["seconds"], size * 8 / 100e6)
            self.assertLess(found["seconds"], patience(10))
            self.assertGreater(run.counters["backward"]["packets"], size / 1460)
            self.assertLess(run.counters["forward"]["packets"], run.counters["backward"]["packets"])

    def test_the_timetable_waits_for_a_server_that_is_long_in_getting_ready(self):
        """Longer than to its first change: a time that passes, and nothing happens."""
        path = self.path("bottleneck: {rate: 1Gbit/s}\n"
                         "hosts: [{name: client, side: left}, {name: server, side: right, delay: 1ms}]\n"
                         "timetable: [{at: 2s, delay: 500ms}, {at: 2s, dead: 1min, direction: forward}]\n")
        run = self.lab(path, "--on", "server", "sleep 2.5; " + peer("echo"), "--ready", "server", "ready",
                       main=peer("round_trips", "$LAB_HOST_server", 5))
        self.assertLess(max(json.loads(run.stdout)), 0.5)
        self.assertEqual(run.counters["forward"]["dead"], 0)

    def test_a_dead_path_comes_back(self):
        self.fifo("done")
        path = self.path("bottleneck: {rate: 1Gbit/s}\n"
                         "hosts: [{name: client, side: left}, {name: server, side: right, delay: 5ms}]\n"
                         "timetable: [{at: 500ms, dead: 1s, direction: forward}]\n")
        run = self.lab(path, "--on", "server", peer("gather", 2), "--ready", "server", "ready",
                       main=f"{peer('shower', '$LAB_HOST_server', 500, 100, 0.005)[5:]} && "
                            "cat $LAB_LOGS/done")
        times = [when for _, when in self.gathered()]
        gap = max(after - before for before, after in zip(times, times[1:]))
        self.assertAlmostEqual(gap, 1, delta=patience(0.1))
        self.assertEqual(run.counters["forward"]["dead"], 500 - len(times))

    def test_long_packets_vanish(self):
        self.fifo("done")
        run = self.lab("--mtu", "1000", "--on", "server", peer("gather", 0.3), "--ready", "server", "ready",
                       main=f"{peer('shower', '$LAB_HOST_server', 10, 900, 0)[5:]}; "
                            f"{peer('shower', '$LAB_HOST_server', 5, 1200, 0)[5:]}; cat $LAB_LOGS/done")
        self.assertEqual(run.counters["forward"]["packets"], 10)
        self.assertEqual(run.counters["forward"]["too_long"], 5)

    def test_a_transfer_through_loss(self):
        source = self.random_file("source", 24 * MIB + 7)
        back = os.path.join(self.scratch, "back")
        run = self.lab("--rate", "200Mbit/s", "--rtt", "20ms", "--loss", "1%", *self.serving(),
                       main=f"{self.ask('put', source, self.remote('file'))} && "
                            f"{self.ask('get', self.remote('file'), back)}")
        self.assert_same(source, os.path.join(self.scratch, "root", "file"))
        self.assert_same(source, os.path.join(self.scratch, "back"))
        self.assertGreater(run.counters["forward"]["lost"], 100)
        self.assertGreater(run.counters["backward"]["lost"], 100)

    # The run

    def test_the_hosts_are_what_was_asked(self):
        path = self.path("bottleneck: {rate: 1Gbit/s}\n"
                         "hosts:\n"
                         "  - {name: client, side: left, congestion: reno, mtu: 1400}\n"
                         "  - {name: server, side: right, congestion: bbr,\n"
                         "     sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}}\n")
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as file:
            need("bbr" in file.read(), "this kernel has no bbr")
        show = "cat /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/net/ipv4/tcp_slow_start_after_idle; " \
               "echo $LAB_NAME $LAB_HOST_client $LAB_HOST_server; ip -o link show lab0"
        need_program("ip")
        lines = self.lab(path, main=show).stdout.splitlines()
        self.assertEqual(lines[:3], ["reno", "1", "client 10.77.1.1 10.77.2.1"])
        self.assertIn("mtu 1400", lines[3])
        lines = self.lab(path, "--in", "server", main=show).stdout.splitlines()
        self.assertEqual(lines[:3], ["bbr", "0", "server 10.77.1.1 10.77.2.1"])
        self.assertIn("mtu 1500", lines[3])

    def test_exit_codes(self):
        self.lab(main="exit 7", code=7)
        self.lab(main="kill -KILL $$", code=128 + signal.SIGKILL)
        missing = self.lab("--on", "server", "echo on purpose >&2; exit 4", "--ready", "server", "never",
                           main="touch ran", code=UNABLE)
        self.assertIn("'echo on purpose >&2; exit 4' ended with 4", missing.stderr)
        with open(os.path.join(self.logs, "server-1.err")) as file:
            self.assertEqual(file.read(), "on purpose\n")
        # What an earlier run wrote makes nobody ready.
        with open(os.path.join(self.logs, "server-1.out"), "w") as file:
            file.write("never")
        self.lab("--on", "server", "exit 4", "--ready", "server", "never", main="touch ran", code=UNABLE)
        nothing = Process([self.program, "run", "--", "/no/such/program"])
        self.assertEqual(nothing.wait(), 127)

    def test_a_command_that_cannot_be_started(self):
        """The lab, its keeper and one command: no process is left for the next."""
        group = Cgroup(self, "pids")
        group.set("pids.max", "3")
        for more in ("exec sleep 60",), ("exec sleep 60", "exec sleep 61"):
            options = [word for line in more for word in ("--on", "server", line)]
            run = self.lab(*options, main="true", code=UNABLE, launcher=group.launcher())
            refused = "the command" if len(more) == 1 else "'exec sleep 61'"
            self.assertIn(f"cannot start {refused}: ", run.stderr)

    def test_what_is_wrong_is_said(self):
        bad = self.path("bottleneck: {rate: 1Gbit/s}\nhosts: []\nspeed: 1\n")
        for options, said in ((("--loss", "7"), "--loss: "), ((bad,), "path.yaml:2: hosts: "),
                              (("/no/such.yaml",), "/no/such.yaml"), (("--in", "nobody"), "no host 'nobody'"),
                              (("--on", "nobody", "true"), "no host 'nobody'"),
                              (("--rate", "10Gbit/s", "--rtt", "2s"), "--memory"), (("--no-such",), "--no-such")):
            run = self.lab(*options, main="true", code=USAGE)
            self.assertIn(said, run.stderr)
        unknown = self.lab("--congestion", "nosuch", main="true", code=UNABLE)
        self.assertIn("nosuch", unknown.stderr)
        self.assertEqual(len(unknown.stderr.splitlines()), 1)

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w") as full:
            for words in (["check"], ["--version"]):
                run = subprocess.run([self.program, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual((run.returncode, run.stderr), (UNABLE, b"lambda-lab: cannot write to standard output\n"))

    def test_without_root(self):
        os.chmod(self.scratch, 0o777)
        run = self.lab(main="true", code=UNABLE, user=65534)
        self.assertRegex(run.stderr, r"^lambda-lab: .*root\n$")

    # The end

    def processes(self, token):
        """Those with this in their environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if token in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def running_lab(self):
        """A lab with a server, a process that left its parent, and a main command that waits."""
        token = f"LAB_TEST={self.seed}.{time.monotonic_ns()}"
        self.environment["LAB_TEST"] = token.split("=")[1]
        never = self.fifo("never")
        process = self.start_lab("--on", "server", f"setsid cat {never} & echo ready; cat {never}",
                                 "--ready", "server", "ready", main=f"echo began; cat {never}; :")
        wait_for(lambda: "began" in process.stdout, "the main command", alive=process.running)
        # The lab, its keeper, two shells and three that wait.
        wait_for(lambda: len(self.processes(token.encode())) >= 7, "all processes")
        return process, token.encode()

    def test_killed_it_leaves_nothing(self):
        need_program("nsenter")
        process, token = self.running_lab()
        networks = {}
        for pid in self.processes(token):
            network = os.stat(f"/proc/{pid}/ns/net").st_ino
            if network != os.stat("/proc/self/ns/net").st_ino:
                networks[network] = networks.get(network) or os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        self.assertEqual(len(networks), 2)

        def has_card(descriptor):
            return subprocess.run(["nsenter", f"--net=/proc/self/fd/{descriptor}", "ip", "link", "show", "lab0"],
                                  pass_fds=[descriptor], capture_output=True).returncode == 0
        for descriptor in networks.values():
            self.assertTrue(has_card(descriptor))
        process.signal(signal.SIGKILL)
        wait_for(lambda: not self.processes(token), "the end of all processes", seconds=5)
        for descriptor in networks.values():
            self.assertFalse(has_card(descriptor), "the TUN device is still there")
            os.close(descriptor)

    def test_told_to_stop_it_stops(self):
        process, token = self.running_lab()
        process.signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.assertIn("forward: ", process.stderr)
        wait_for(lambda: not self.processes(token), "the end of all processes", seconds=5)

    def test_a_signal_of_the_terminal_comes_once(self):
        # Told by a pipe: Python's own handler waits for the next signal where one came just before a read.
        counts = ("import os, select, signal; n = 0; heard, told = os.pipe(); os.set_blocking(told, False)\n"
                  "signal.set_wakeup_fd(told); signal.signal(signal.SIGINT, lambda *_: None); print('began', flush=True)\n"
                  "while heard in select.select([heard, 0], [], [])[0]:\n"
                  "    n += len(os.read(heard, 100)); print('got', n, flush=True)\n"
                  "print('all', n, flush=True)")
        said = b""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(self.program, [self.program, "run", "--", sys.executable, "-c", counts], self.environment)
        try:
            def hear(word):
                nonlocal said
                while word not in said:
                    self.assertTrue(select.select([terminal], [], [], patience(10))[0], f"no {word} in {said}")
                    said += os.read(terminal, 4096)
            hear(b"began")
            for i in range(10):
                os.write(terminal, b"\x03")
                hear(b"got %d\r" % (i + 1))
            os.write(terminal, b"\n")
            hear(b"all")
            hear(b"forward")
        finally:
            os.kill(pid, signal.SIGTERM)
            os.close(terminal)
            os.waitpid(pid, 0)
        self.assertIn(b"all 10\r", said)

    def test_told_to_stop_while_it_waits(self):
        began = os.path.join(self.logs, "server-1.out")
        process = self.start_lab("--on", "server", f"echo began; exec cat {self.fifo('nothing')}",
                                 "--ready", "server", "never", main="true")
        wait_for(lambda: os.path.exists(began) and os.path.getsize(began) > 0, "the server", alive=process.running)
        process.signal(signal.SIGINT)
        self.assertEqual(process.wait(), 128 + signal.SIGINT)
        self.assertIn("told to stop before server was ready", process.stderr)

    def test_the_series(self):
        file = os.path.join(self.scratch, "series.csv")
        self.lab("--rate", "10Mbit/s", "--series", file, "--on", "server", peer("gather", 1),
                 "--ready", "server", "ready", main=peer("shower", "$LAB_HOST_server", 1000, 972, 0.001))
        with open(file) as lines:
            names, *rows = [line.strip().split(",") for line in lines]
        self.assertGreater(len(rows), 8)
        self.assertTrue(all(len(row) == len(names) for row in rows))
        carried = sum(float(row[1]) for row in rows[:-1]) * 0.1 * 1e6 / 8
        self.assertGreater(carried, 700 * KIB)
        self.assertLess(carried, 1010 * 1000)

    def test_a_series_that_cannot_be_written_costs_the_run_nothing_else(self):
        run = self.lab("--series", "/dev/full", main="exit 7", code=7)
        self.assertIn("/dev/full: cannot write the series", run.stderr)
        self.assertIn("forward: ", run.stderr)
        self.assertEqual(run.counters["forward"]["lost"], 0)
        self.lab("--series", "/dev/full", main="true", code=UNABLE)
