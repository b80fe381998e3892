"""What the system tests share: the real binaries as processes, files, waiting, and skipping.

Everything a test starts or makes is undone by unittest's cleanups, also when it fails. When root,
`run` puts all of it into a network and a mount namespace of its own first, so that nothing can be
left behind on the machine. Nothing here sleeps for a while and hopes: wait_for() waits for an event
with a deadline.
"""

import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from multiprocessing.util import Finalize

from json_page import undocumented

# What a shell's background or nohup left ignored would be so for the programs, too.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL),
                      (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
DONE, FILE_FAILED, USAGE, NO_SESSION, INTEGRITY, CUT = range(6)  # the client's exit codes
USER = "tester"
PASSWORD = "correct horse battery staple"
PATIENCE_S = 60.0  # for whatever takes a moment on an idle machine
SANITIZED_SLOWER = 5  # a sanitizer's programs


class Settings:
    """Set by `run` before any test."""
    bin_dir = ""
    tools_dir = ""   # lambda-lab and lambda-sim
    support_dir = ""
    scratch = ""     # where the tests' files lie; None: the system's
    long = False
    stripes = None   # of a transfer that does not say it; None: the client's own number
    isolated = False  # we are root, in namespaces of our own


@functools.cache
def sanitized():
    """Whether the binaries carry a sanitizer: memory and speed then say nothing."""
    with open(os.path.join(Settings.bin_dir, "lambda-ftpd"), "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


def patience(seconds):
    return seconds * (SANITIZED_SLOWER if sanitized() else 1)


def need(condition, reason):
    if not condition:
        raise unittest.SkipTest(reason)


def need_program(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    need(path, f"no {name} on this machine")
    return path


def need_isolation():
    need(Settings.isolated, "needs root, to make namespaces")


def support_program(name):
    path = os.path.join(Settings.support_dir, name)
    need(os.path.exists(path), f"{name} was not built")
    return path


def wait_for(condition, what, seconds=PATIENCE_S, alive=None):
    """Polls until condition() is true and returns its value. `alive` ends the wait early when it
    says no: what is awaited will not come any more."""
    deadline = time.monotonic() + patience(seconds)
    while True:
        value = condition()
        if value:
            return value
        if alive is not None and not alive():
            value = condition()
            if value:
                return value
            raise AssertionError(f"ended before: {what}")
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(0.002)


def status_kib(pid, field):
    """VmRSS, VmHWM: KiB."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.M).group(1))


@functools.cache
def for_anyone(program):
    """A copy that other users can reach: a build in a home folder is closed to them."""
    folder = tempfile.mkdtemp(prefix="lambda-test-bin-", dir=Settings.scratch)
    # At the end of a worker, too, which runs nothing of atexit.
    Finalize(None, shutil.rmtree, [folder], {"ignore_errors": True}, exitpriority=0)
    os.chmod(folder, 0o755)
    return shutil.copy(program, folder)


class Process:
    """A child whose two outputs are gathered by threads, and which is reaped with its peak memory."""

    def __init__(self, arguments, env=None, network=None, launcher=(), stdin=subprocess.DEVNULL, user=None,
                 cwd=None):
        program, *arguments = arguments
        if user is not None:
            program = for_anyone(program)
        command = [*launcher, *map(os.fsencode, [program, *arguments])]
        if network:
            command = [need_program("ip"), "netns", "exec", network, *command]
        self.command = command
        self.child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=env, cwd=cwd, user=user, group=user,
                                      start_new_session=bool(launcher),
                                      extra_groups=[] if user is not None else None)
        self.pid = self.child.pid
        self.launched = bool(launcher)
        self.peak_mib = None
        self._status = None
        self._output = {"stdout": bytearray(), "stderr": bytearray()}
        self._readers = [threading.Thread(target=self._gather, args=(name,), daemon=True)
                         for name in self._output]
        for reader in self._readers:
            reader.start()

    def _gather(self, name):
        pipe = getattr(self.child, name)
        for piece in iter(lambda: pipe.read1(65536), b""):
            self._output[name] += piece
        pipe.close()

    @property
    def stdout(self):
        return bytes(self._output["stdout"]).decode("utf-8", "surrogateescape")

    @property
    def stderr(self):
        return bytes(self._output["stderr"]).decode("utf-8", "surrogateescape")

    def _reap(self, flags):
        if self._status is None:
            pid, status, usage = os.wait4(self.pid, flags)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
                self.child.returncode = self._status
                self.peak_mib = usage.ru_maxrss / 1024
                self.cpu_seconds = usage.ru_utime + usage.ru_stime

    def running(self):
        self._reap(os.WNOHANG)
        return self._status is None

    def signal(self, number):
        if self.running():
            os.kill(self.pid, number)

    def wait(self, seconds=PATIENCE_S):
        """The exit code (negative: the signal that killed it)."""
        try:
            wait_for(lambda: not self.running(), f"the end of {self.command}", seconds)
        except AssertionError as problem:
            self.kill()
            raise AssertionError(f"{problem}\n{self.stdout[-2000:]}\n{self.stderr[-4000:]}") from None
        for reader in self._readers:
            reader.join(5)
        return self._status

    def kill(self):
        # With what a launcher started: strace would leave its program behind.
        if self.launched and self.running():
            os.killpg(self.pid, signal.SIGKILL)
        self.signal(signal.SIGKILL)
        if self._status is None:
            self._reap(0)
        if self.child.stdin:
            self.child.stdin.close()

    def peak_now_mib(self):
        """The peak so far, of the program itself."""
        return status_kib(self.pid, "VmHWM") / 1024


class Server(Process):
    """A running lambda-ftpd."""

    def __init__(self, case, *options, root=None, state=None, listen="127.0.0.1:0", settings=None, user=None,
                 network=None, launcher=(), data_ports=None):
        self.root = root or case.folder("root")
        self.state = state or case.folder("state")
        self.password_file = case.secret("server-password", PASSWORD)
        if user is not None:
            for path in (self.root, self.state, self.password_file):
                os.chown(path, user, user)
        settings = dict(settings or {})
        if data_ports:
            settings["data_ports"] = data_ports
        arguments = [os.path.join(Settings.bin_dir, "lambda-ftpd")]
        if settings:
            path = os.path.join(case.folder("settings"), "server.yaml")
            with open(path, "w") as file:
                file.writelines(f"{key}: {value}\n" for key, value in settings.items())
            arguments += ["--config", path]
        arguments += ["--root", self.root, "--listen", listen, "--user", USER,
                      "--password-file", self.password_file, "--state", self.state, *options]
        super().__init__(arguments, env=case.environment, network=network, launcher=launcher, user=user)
        case.addCleanup(self.kill)
        line = wait_for(lambda: re.search(r"^listening on (.*):(\d+)$", self.stdout, re.M),
                        "the server's `listening on`", alive=self.running_or_explain)
        self.host, self.port = line.group(1), int(line.group(2))

    def running_or_explain(self):
        if not self.running():
            for reader in self._readers:
                reader.join(5)
            raise AssertionError(f"the server ended with {self._status}: {self.stderr}")
        return True

    def url(self, path="", user=USER, host=None):
        quoted = "".join(chr(b) if chr(b).isalnum() and b < 128 or chr(b) in "/._~-" else f"%{b:02X}"
                         for b in os.fsencode(path))
        return f"lambda://{user}@{host or self.host}:{self.port}/{quoted}"

    def path(self, name):
        return os.path.join(os.fsencode(self.root), os.fsencode(name))

    def parts(self):
        """What is half-received below the root."""
        return parts_below(self.root)


def parts_below(folder):
    found = []
    for where, _, names in os.walk(os.fsencode(folder)):
        found += [os.path.join(where, name) for name in names if name.startswith(b".lambda-")]
    return found


def data_ranges(file):
    """Where a file has data, by SEEK_DATA: (first, last + 1)."""
    ranges, at, size = [], 0, os.fstat(file.fileno()).st_size
    while at < size:
        try:
            first = os.lseek(file.fileno(), at, os.SEEK_DATA)
        except OSError:
            break
        at = os.lseek(file.fileno(), first, os.SEEK_HOLE)
        ranges.append((first, at))
    return ranges


class Result:
    """How a client's run ended."""

    def __init__(self, process):
        self.code = process.wait()
        self.stdout, self.stderr = process.stdout, process.stderr
        self.peak_mib = process.peak_mib
        self.events = []
        for line in self.stdout.splitlines():
            if line.startswith("{"):
                self.events.append(json.loads(line))
                if unknown := undocumented(self.events[-1]):
                    raise AssertionError(f"docs/json.md does not tell of {', '.join(unknown)}: {line[:500]}")
        self.summary = self.events[-1] if self.events and self.events[-1].get("event") == "summary" else None
        self.errors = [event for event in self.events if event.get("event") == "error"]

    def __str__(self):
        return f"exit code {self.code}\n{self.stdout[-3000:]}\n{self.stderr[-3000:]}"

    def said(self):
        """Everything it told the user, as one text."""
        return self.stderr + "".join(error.get("message", "") for error in self.errors)


class Case(unittest.TestCase):
    """A test with a scratch folder and a user of its own."""

    maxDiff = 2000
    scratch_in = None  # where the scratch folder lies; None: as `run` was told

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="lambda-test-", dir=self.scratch_in or Settings.scratch)
        os.chmod(self.scratch, 0o755)
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.home = self.folder("home")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("XDG_", "LAMBDA_"))}
        self.environment["HOME"] = self.home
        self.seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.seed)
        self.client_password = self.secret("client-password", PASSWORD)

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        self.servers = []
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            print(f"SEED={self.seed} repeats the failed {self.id()}", file=sys.stderr)
            for server in self.servers:
                print(f"its server said:\n{server.stderr[-3000:]}", file=sys.stderr)

    # Files

    def folder(self, name):
        path = os.path.join(self.scratch, name)
        os.makedirs(path, exist_ok=True)
        return path

    def secret(self, name, content):
        path = os.path.join(self.scratch, name)
        with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(content + "\n")
        return path

    def random_file(self, name, size, folder="local"):
        """A file of random bytes, made piece by piece."""
        path = os.path.join(os.fsencode(self.folder(folder)), os.fsencode(name))
        with open(path, "wb") as file:
            while size > 0:
                piece = min(size, 8 * MIB)
                file.write(self.random.randbytes(piece))
                size -= piece
        return path

    def file_with(self, path, content):
        with open(path, "wb") as file:
            file.write(content)
        return path

    def assert_same(self, one, other):
        """Identical content, compared piece by piece."""
        self.assertEqual(os.path.getsize(one), os.path.getsize(other), f"sizes of {one} and {other}")
        with open(one, "rb") as a, open(other, "rb") as b:
            at = 0
            while piece := a.read(4 * MIB):
                if piece != b.read(len(piece)):
                    self.fail(f"{one} and {other} differ within 4 MiB from {at}")
                at += len(piece)

    def assert_same_sparse(self, one, other):
        """As assert_same(), but reads only where either has data."""
        self.assertEqual(os.path.getsize(one), os.path.getsize(other))
        with open(one, "rb") as a, open(other, "rb") as b:
            for first, last in sorted(data_ranges(a) + data_ranges(b)):
                for at in range(first, last, 4 * MIB):
                    size = min(4 * MIB, last - at)
                    if os.pread(a.fileno(), size, at) != os.pread(b.fileno(), size, at):
                        self.fail(f"{one} and {other} differ within 4 MiB from {at}")

    # Programs

    def server(self, *options, **how):
        self.servers.append(Server(self, *options, **how))
        return self.servers[-1]

    def certificate(self, state, *kind):
        """A server's own, with its key: settings."""
        files = {name: os.path.join(state, name) for name in ("certificate", "key")}
        subprocess.run([need_program("openssl"), "req", "-x509", "-newkey", *kind, "-nodes", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", files["key"], "-out",
                        files["certificate"]], check=True, capture_output=True)
        return files

    def daemon_command(self, *arguments):
        """lambda-ftpd for something else than serving."""
        process = Process([os.path.join(Settings.bin_dir, "lambda-ftpd"), *arguments], env=self.environment)
        self.addCleanup(process.kill)
        return process

    def start(self, *arguments, password=True, trust=True, json=True, **how):
        """A client in the background."""
        command = [os.path.join(Settings.bin_dir, "lambda-ftp"), *arguments[:1]]
        command += ["--json"] if json else []
        if Settings.stripes and arguments[0] in ("put", "get", "sync") and "--stripes" not in arguments:
            command += ["--stripes", str(Settings.stripes)]
        command += ["--password-file", self.client_password] if password else []
        command += ["--trust-new-host"] if trust else []
        process = Process([*command, *arguments[1:]], env=self.environment, **how)
        self.addCleanup(process.kill)
        return process

    def client(self, *arguments, seconds=PATIENCE_S, **how):
        process = self.start(*arguments, **how)
        process.wait(seconds)
        return Result(process)

    def transfer(self, *arguments, files=1, **how):
        """A client's run that must succeed, all of it verified."""
        result = self.client(*arguments, **how)
        self.assertEqual(result.code, DONE, str(result))
        self.assertIsNotNone(result.summary, str(result))
        self.assertEqual(result.summary["files"], files, str(result))
        self.assertEqual(result.summary["verified"], files, str(result))
        return result

    def assert_failed(self, result, code):
        """It ended with this code, and said why."""
        self.assertEqual(result.code, code, str(result))
        self.assertTrue(result.said().strip(), "no word about why: " + str(result))
        self.assertNotIn("terminate called", result.stderr)
        self.assertNotIn("Assertion", result.stderr)

    def assert_serving(self, server):
        """The server lives and moves a file."""
        self.assertTrue(server.running(), "the server is gone: " + server.stderr[-3000:])
        source = self.random_file("still-serving", 10_000)
        target = os.path.join(self.folder("still"), "got")
        self.transfer("put", source, server.url("still-serving"))
        self.transfer("get", server.url("still-serving"), target)
        self.assert_same(source, target)
        os.unlink(server.path("still-serving"))
        os.unlink(target)

    def wait_for_part(self, folder, process, at_least=1):
        """A transfer into this folder is under way: bytes are in a partial file."""
        def grown():
            for part in parts_below(folder):
                try:
                    if os.stat(part).st_blocks * 512 >= at_least:
                        return part
                except FileNotFoundError:
                    pass
            return None
        return wait_for(grown, f"a partial file in {folder}", alive=process.running)


def open_files(pid):
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except FileNotFoundError:
            pass
    return found
