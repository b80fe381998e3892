"""put and get of one file from /dev/shm to /dev/shm, AES-128-GCM, against curl from nginx over HTTPS
(TLS 1.3, AES-128-GCM) of the same file on this machine.

usage: bench [https] [--quick] [--json] [--bin DIR] [--size BYTES] [--rounds N] [--stripes N]

Wall clock of the client's whole process, from its start to its end. The runs of a round follow each
other, so that all see the same machine; the first round warms up and does not count. Each result is
compared with its source by cmp. CPU seconds are of all threads, user and system, for each GB (1e9
bytes) of the file. A peer that is not installed is left out, and named.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench_parts.hosts import LOOPBACK
from bench_parts.place import BIN, make_random

MEMORY = "/dev/shm"
TICKS = os.sysconf("SC_CLK_TCK")
DEADLINE_S = 20.0
# Measured on Debian 12's nginx 1.22: larger record buffers than the default 16 KiB halve its system
# calls; beyond 256 KiB nothing is gained.
NGINX_BUFFER = "256k"

NGINX_CONF = """
daemon off;
master_process off;
worker_processes 1;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 64; use epoll; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    output_buffers 4 1m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {address}:{port} ssl;
        root {root};
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_buffer_size {buffer};
    }}
}}
"""


def main(words):
    arguments = parse_arguments(words)
    results = {"https": bench_https(arguments)}
    if arguments.json:
        print(json.dumps(results))


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bin", default=BIN)
    parser.add_argument("--size", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--stripes", type=int, default=4)
    arguments = parser.parse_args(words)
    arguments.size = arguments.size or (256 << 20 if arguments.quick else 2 << 30)
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 7)
    return arguments


def bench_https(arguments):
    with tempfile.TemporaryDirectory(prefix="lambda-bench-", dir=MEMORY) as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        source = os.path.join(root, "source")
        make_random(source, arguments.size)
        peers = [Lambda(folder, root, arguments)]
        try:
            if missing := Https.missing():
                say(f"https: left out, not installed: {', '.join(missing)}")
            else:
                peers.append(Https(folder, root))
            ways = [way for peer in peers for way in peer.ways(source)]
            return measure(ways, source, os.path.join(folder, "target"), arguments)
        finally:
            for peer in peers:
                peer.stop()


def measure(ways, source, target, arguments):
    """All ways in turn, round after round; medians and ratios."""
    size = os.path.getsize(source)
    say(f"{size / 1e9:.3f} GB in memory, {arguments.stripes} stripes, AES-128-GCM, {arguments.rounds} rounds, "
        f"{os.cpu_count()} processors")
    runs = {way.name: [] for way in ways}
    for number in range(arguments.rounds + 1):
        for way in ways:
            run = one_run(way, source, target)
            if number > 0:
                runs[way.name].append(run)
    summary = {}
    say(f"{'':6}{'s':>8}{'min':>8}{'max':>8}{'Gbit/s':>9}{'CPU s/GB':>10}{'of server':>10}"
        f"{'peak MiB':>10}{'of server':>10}")
    for way in ways:
        done = runs[way.name]
        seconds = [run["seconds"] for run in done]
        one = {"seconds": statistics.median(seconds), "least": min(seconds), "most": max(seconds),
               "gbit_per_s": size * 8 / statistics.median(seconds) / 1e9,
               "client_cpu_s_per_gb": statistics.median(run["client_cpu"] for run in done) / (size / 1e9),
               "server_cpu_s_per_gb": statistics.median(run["server_cpu"] for run in done) / (size / 1e9),
               "client_peak_mib": max(run["client_peak"] for run in done),
               "server_peak_mib": max(run["server_peak"] for run in done)}
        summary[way.name] = one
        say("{:6}{seconds:8.3f}{least:8.3f}{most:8.3f}{gbit_per_s:9.2f}{client_cpu_s_per_gb:10.3f}"
            "{server_cpu_s_per_gb:10.3f}{client_peak_mib:10.0f}{server_peak_mib:10.0f}".format(way.name, **one))
    ratios = {}
    names = [way.name for way in ways]
    for faster, slower in (("put", "curl"), ("get", "curl"), ("get", "put")):
        if faster in names and slower in names:
            # Of each round, so that what slows the whole machine for a while cancels out.
            ratio = statistics.median(b["seconds"] / a["seconds"] for a, b in zip(runs[faster], runs[slower]))
            ratios[f"{faster}/{slower}"] = ratio
            say(f"speed of {faster} / speed of {slower}: {ratio:.2f}")
    return {"bytes": size, "rounds": arguments.rounds, "stripes": arguments.stripes, "ways": summary,
            "ratios": ratios}


class Way:
    """One thing to run: a command that makes `target` or, for put, a file of its server."""

    def __init__(self, name, server, command, result, environment=None):
        self.name, self.server, self.command, self.result = name, server, command, result
        self.environment = environment


def one_run(way, source, target):
    result = way.result or target
    if os.path.exists(result):
        os.unlink(result)
    command = [target if word == "TARGET" else word for word in way.command]
    log = tempfile.TemporaryFile()
    cpu = cpu_seconds(way.server.pid)
    began = time.perf_counter()
    client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=way.environment)
    _, status, usage = os.wait4(client.pid, 0)
    seconds = time.perf_counter() - began
    client.returncode = os.waitstatus_to_exitcode(status)
    if client.returncode != 0:
        log.seek(0)
        sys.exit(f"{way.name} failed with {client.returncode}: {log.read().decode(errors='replace')[-3000:]}")
    run = {"seconds": seconds, "client_cpu": usage.ru_utime + usage.ru_stime, "client_peak": usage.ru_maxrss / 1024,
           "server_cpu": cpu_seconds(way.server.pid) - cpu, "server_peak": peak_mib(way.server.pid)}
    if subprocess.run(["cmp", source, result]).returncode != 0:
        sys.exit(f"{way.name}: the result differs from its source")
    os.unlink(result)
    return run


class Lambda:
    """A lambda-ftpd of our own."""

    def __init__(self, folder, root, arguments, options=(), host=LOOPBACK):
        self.folder, self.root, self.arguments = folder, root, arguments
        self.programs = os.path.abspath(arguments.bin)
        self.password = os.path.join(folder, "password")
        with open(self.password, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("only for this run\n")
        state = os.path.join(folder, "state")
        self.log = open(os.path.join(folder, "server.log"), "w+b")
        self.server = host.start(
            [os.path.join(self.programs, "lambda-ftpd"), "--root", root, "--listen", f"{host.address}:0", "--user",
             "bench", "--password-file", self.password, "--state", state, *options], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        try:
            self.port = self.wait_for_port()
        except BaseException:
            self.stop()
            raise

    def wait_for_port(self):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and self.server.poll() is None:
            with open(self.log.name, "rb") as log:
                if found := re.search(rb"^listening on .*:(\d+)$", log.read(), re.M):
                    return int(found.group(1))
            time.sleep(0.01)
        with open(self.log.name) as log:
            sys.exit(f"lambda-ftpd does not listen: {log.read()[-2000:]}")

    def ways(self, source):
        environment = dict(os.environ, HOME=self.folder)
        options = ["--stripes", str(self.arguments.stripes), "--cipher", "aes-128-gcm", "--quiet", "--trust-new-host",
                   "--password-file", self.password]
        program, url = os.path.join(self.programs, "lambda-ftp"), f"lambda://bench@127.0.0.1:{self.port}"
        return [Way("put", self.server, [program, "put", *options, source, f"{url}/target"],
                    os.path.join(self.root, "target"), environment),
                Way("get", self.server, [program, "get", *options, f"{url}/source", "TARGET"], None, environment)]

    def stop(self):
        stop(self.server)
        self.log.close()


class Nginx:
    """The files and the commands of an nginx at its best settings, without a master process, and of its curl."""

    def __init__(self, folder, root, address, port):
        self.folder, self.address, self.port = os.path.join(folder, "nginx"), address, port
        os.mkdir(self.folder)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", f"{self.folder}/key.pem", "-out", f"{self.folder}/certificate.pem", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:{address}"],
                       check=True, capture_output=True)
        with open(os.path.join(self.folder, "nginx.conf"), "w") as file:
            file.write(NGINX_CONF.format(folder=self.folder, root=root, address=address, port=port,
                                         buffer=NGINX_BUFFER))

    @staticmethod
    def missing():
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        return [name for name in ("nginx", "curl", "openssl") if not shutil.which(name, path=path)]

    def serve(self):
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.folder, "-c", f"{self.folder}/nginx.conf"]

    def fetch(self, target):
        """`source` of its root."""
        return ["curl", "--silent", "--show-error", "--fail", "--cacert", f"{self.folder}/certificate.pem", "-o",
                target, f"https://{self.address}:{self.port}/source"]


class Https(Nginx):
    """One that runs."""

    def __init__(self, folder, root, host=LOOPBACK):
        super().__init__(folder, root, host.address, host.free_port())
        self.server = host.start(self.serve(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        wait_for_port(self.server, host, self.port, os.path.join(self.folder, "error.log"))

    def ways(self, _):
        return [Way("curl", self.server, self.fetch("TARGET"), None)]

    def stop(self):
        stop(self.server)


def cpu_seconds(pid):
    """All threads' user and system time so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"^VmHWM:\s+(\d+)", file.read(), re.M).group(1)) / 1024


def wait_for_port(process, host, port, log):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        if host.answers(port):
            return
        time.sleep(0.01)
    stop(process)
    with open(log) as file:
        sys.exit(f"nginx does not listen: {file.read()[-2000:]}")


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def say(text):
    print(text, file=sys.stderr if "--json" in sys.argv else sys.stdout, flush=True)
