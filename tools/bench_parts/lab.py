"""A path of lambda-lab between `client` (left) and `server` (right), and runs on it."""

import csv
import json
import os
import shutil
import subprocess

from bench_parts.place import program

# The kernel's TCP may use what the longest path of the matrix holds, several times over.
TCP_BUFFER = 128 << 20
# A run's time beyond that of its data: programs start, say hello and goodbye at 200 ms.
AROUND_S = 30
PATIENCE_S = 30


class Path:
    """rtt in ms; queue as the lab takes it; mtu of the hosts' cards; backward: settings of the direction from the
    server, where they differ; timetable: a list of changes, each a map."""

    def __init__(self, rtt, loss=0, queue="1BDP", rate="1Gbit/s", congestion="cubic", backward=None, timetable=(),
                 mtu=1500):
        self.rtt, self.loss, self.queue, self.rate, self.mtu = rtt, loss, queue, rate, mtu
        self.congestion, self.backward, self.timetable = congestion, backward, timetable

    def yaml(self):
        buffers = {"net.ipv4.tcp_rmem": f"4096 131072 {TCP_BUFFER}", "net.ipv4.tcp_wmem": f"4096 65536 {TCP_BUFFER}"}
        bottleneck = {"rate": self.rate, "queue": self.queue, "loss": self.loss}
        if self.backward:
            bottleneck["backward"] = self.backward
        hosts = [{"name": "client", "side": "left"},
                 {"name": "server", "side": "right", "delay": f"{self.rtt / 2:g}ms"}]
        for host in hosts:
            host |= {"congestion": self.congestion, "mtu": self.mtu, "sysctl": buffers}
        lines = [f"bottleneck: {json.dumps(bottleneck)}", f"hosts: {json.dumps(hosts)}"]
        if self.timetable:
            lines.append(f"timetable: {json.dumps(list(self.timetable))}")
        return "\n".join(lines) + "\n"


class Failed(Exception):
    """A run that gave nothing to measure; its text says why."""


class Run:
    """What a run on a path said and counted."""

    def __init__(self, code, stdout, stderr, counters, series):
        self.code, self.stdout, self.stderr = code, stdout, stderr
        self.counters, self.series = counters, series

    @property
    def strained(self):
        return self.counters["lab"]["strained"]

    def mbit(self, direction, begin, end):
        """What passed the bottleneck's queue, of whole IP packets, between two times of the run."""
        rows = [row[f"{direction}_mbit"] for row in self.series if begin < row["seconds"] <= end + 1e-6]
        return sum(rows) / len(rows) if rows else 0.0


def once_more(run):
    """What run() gives; where the lab was late (`strained`), what it gives another time."""
    done = run()
    return run() if done["strained"] else done


def shell(words):
    """Words as a line for the shell, which may use $LAB_HOST_server."""
    return " ".join(word if all(c.isalnum() or c in "-_./:=@$,%+" for c in word) else "'" + word + "'"
                    for word in words)


def missing(*programs):
    """Why there can be no run on a path of these programs; None: there can."""
    if os.geteuid() != 0:
        return "needs root, for lambda-lab"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    absent = [name for name in programs if not shutil.which(name)]
    return f"not installed: {', '.join(absent)}" if absent else None


class Lab:
    """Runs commands on paths; a folder of its own holds what the runs write."""

    def __init__(self, arguments, folder):
        self.program = program("lambda-lab", arguments)
        if not self.program:
            raise SystemExit("bench: lambda-lab was not built")
        self.folder = os.path.join(folder, "lab")
        os.makedirs(self.folder, exist_ok=True)
        self.logs = os.path.join(self.folder, "logs")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMBDA_")}
        self.environment["HOME"] = folder

    def run(self, path, main, servers, seconds, codes=(0,)):
        """main: a line for the shell of the client. servers: (line for the shell, how --ready knows that it
        is ready). seconds: how long main may take. codes: main's exit codes that are good."""
        names = {name: os.path.join(self.folder, name) for name in ("path.yaml", "counters.json", "series.csv")}
        for name in names.values():
            if os.path.exists(name):
                os.unlink(name)
        with open(names["path.yaml"], "w") as file:
            file.write(path.yaml())
        command = [self.program, "run", names["path.yaml"], "--json", names["counters.json"], "--series",
                   names["series.csv"], "--logs", self.logs]
        for line, ready in servers:
            command += ["--on", "server", f"exec {line}", "--ready", "server", ready]
        process = subprocess.Popen([*command, "--", "sh", "-c", main], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=self.environment)
        try:
            stdout, stderr = process.communicate(timeout=seconds + PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            stdout, stderr = process.communicate()
            raise Failed(f"not within {seconds + PATIENCE_S:g} s: {main}\n{self.said(stdout, stderr)}") from None
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if process.returncode not in codes:
            raise Failed(f"ended with {process.returncode}: {main}\n{self.said(stdout, stderr)}")
        with open(names["counters.json"]) as file:
            counters = json.load(file)
        with open(names["series.csv"]) as file:
            series = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        return Run(process.returncode, stdout, stderr, counters, series)

    def said(self, stdout, stderr):
        """The ends of what everybody wrote."""
        texts = [stdout, stderr]
        for name in sorted(os.listdir(self.logs)) if os.path.isdir(self.logs) else ():
            with open(os.path.join(self.logs, name), errors="replace") as file:
                texts.append(f"{name}: {file.read()}")
        return "\n".join(text[-1500:] for text in texts if text.strip())
