"""The server over its life: settings, certificate, several transfers."""

import os
import re
import signal
import subprocess

from harness import (CUT, DONE, FILE_FAILED, KIB, MIB, NO_SESSION, USAGE, USER, Case, Process, Settings, need_isolation,
                     need_program, wait_for)
from line import Line
from sessions import Session


def openssl(*arguments):
    subprocess.run([need_program("openssl"), *arguments], check=True, capture_output=True)


class Life(Case):
    def test_a_restart_keeps_the_certificate(self):
        server = self.server()
        source = self.random_file("source", 1000)
        self.transfer("put", source, server.url("x"))
        for _ in range(2):
            server.kill()
            server = self.server(root=server.root, state=server.state, listen=f"{server.host}:{server.port}")
            self.transfer("put", source, server.url("x"), trust=False)

    def test_the_key_is_nobody_elses(self):
        server = self.server()
        for name in os.listdir(server.state):
            path = os.path.join(server.state, name)
            if "key" in name and os.path.isfile(path):
                self.assertEqual(os.stat(path).st_mode & 0o077, 0, name)

    def test_output_that_cannot_be_written_is_told(self):
        state, program = self.folder("state"), os.path.join(Settings.bin_dir, "lambda-ftpd")
        serves = [program, "--state", state, "--root", self.folder("root"), "--user", USER, "--password-file",
                  self.client_password, "--listen", "127.0.0.1:0"]
        with open("/dev/full", "w") as full:
            for words in (["--version"], ["check-config", "--state", state], ["user", "list", "--state", state]):
                run = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual((run.returncode, run.stderr), (1, b"lambda-ftpd: cannot write to standard output\n"), words)
            # Who serves does so all the same.
            server = Process(serves, launcher=["sh", "-c", 'exec "$@" >/dev/full', "sh"])
            self.addCleanup(server.kill)
            wait_for(lambda: "could not be written to standard output" in server.stderr, "a word about it", alive=server.running)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), DONE)

    def test_six_transfers_in_a_row(self):
        server = self.server()
        before = None
        for number in range(6):
            source = self.random_file("source", 12 * MIB + number)
            stripes = str(1 + number % 4)
            self.transfer("put", "--stripes", stripes, source, server.url(f"file-{number}"))
            self.assert_same(source, server.path(f"file-{number}"))
            target = os.path.join(self.folder("back"), "file")
            self.transfer("get", "--stripes", stripes, server.url(f"file-{number}"), target)
            self.assert_same(source, target)
            handles = len(os.listdir(f"/proc/{server.pid}/fd"))
            before = before or handles
            self.assertLessEqual(handles, before + 2, "descriptors leak")
        self.assertEqual(server.parts(), [])

    def test_transfers_side_by_side(self):
        server = self.server()
        sources = [self.random_file(f"file-{number}", 10 * MIB) for number in range(4)]
        clients = [self.start("put", source, server.url(f"file-{number}")) for number, source in enumerate(sources)]
        for number, client in enumerate(clients):
            self.assertEqual(client.wait(), DONE, client.stdout + client.stderr)
            self.assert_same(sources[number], server.path(f"file-{number}"))

    def test_one_data_port(self):
        server = self.server(data_ports="31234-31234")
        source = self.random_file("source", 24 * MIB)
        target = os.path.join(self.folder("back"), "file")
        for stripes in ("1", "4"):
            self.transfer("put", "--stripes", stripes, source, server.url("file"))
            self.assert_same(source, server.path("file"))
            self.transfer("get", "--stripes", stripes, server.url("file"), target)
            self.assert_same(source, target)

    def test_one_transfer_leaves_data_ports_to_others(self):
        server = self.server(data_ports="31234-31241")
        source = self.random_file("source", 24 * MIB)
        client = self.start("put", "--stripes", "8", "--rate-limit", "40Mbit/s", source, server.url("file"))
        self.wait_for_part(server.root, client)
        small = self.random_file("small", MIB)
        for number in range(2):
            self.transfer("put", "--stripes", "8", small, server.url(f"small-{number}"))
            self.assert_same(small, server.path(f"small-{number}"))
        self.assertTrue(client.running())
        self.assertEqual(client.wait(), DONE, client.stderr)
        self.assert_same(source, server.path("file"))

    def test_no_data_port_is_free(self):
        server = self.server(data_ports="31234-31234")
        source = self.random_file("source", 24 * MIB)
        client = self.start("put", "--rate-limit", "40Mbit/s", source, server.url("file"))
        self.wait_for_part(server.root, client)
        other = self.client("put", source, server.url("other"))
        self.assertNotEqual(other.code, DONE)
        self.assertRegex(other.said(), "port")
        self.assertEqual(client.wait(), DONE, client.stderr)

    def test_no_room_for_connections_made_ahead(self):
        """They are refused, and made again when it is their turn."""
        server = self.server(settings={"sessions_per_address": 2})
        source = self.random_file("source", 3 * MIB)
        self.transfer("put", source, server.url("file"), "--stripes", "4")
        self.assert_same(source, server.path("file"))
        wait_for(lambda: "too many sessions" in server.stderr, "why, in the log")

    def test_a_full_server_is_waited_for(self):
        server = self.server(settings={"sessions_per_address": 2})
        source = self.random_file("source", MIB)
        held = [Session(self, server) for _ in range(2)]
        full = self.client("ls", server.url())
        self.assert_failed(full, NO_SESSION)
        self.assertIn("Too many sessions; try later", full.said())
        self.assertNotIn("is it a lambda-ftpd", full.said())
        waiting = self.start("put", source, server.url("file"), "--stripes", "1", "--retry-for", "60s")
        wait_for(lambda: "trying again in" in waiting.stderr, "a word that it waits", alive=waiting.running)
        for session in held:
            session.ask("QUIT")
        self.assertEqual(waiting.wait(), DONE, waiting.stderr)
        self.assert_same(source, server.path("file"))

    def test_no_room_for_any_stripe_is_told(self):
        server = self.server(settings={"sessions_per_address": 1})
        result = self.client("put", self.random_file("source", MIB), server.url("file"), "--stripes", "16")
        self.assert_failed(result, CUT)
        self.assertRegex(result.said(), "cannot join a stripe: .*sessions_per_address")
        self.assertEqual(os.listdir(server.root), [])

    def test_a_moment_of_trouble_for_all_stripes_is_none_for_the_transfer(self):
        """They dial at once, and are refused at once: first those that were made ahead, then others in their place."""
        server = self.server()
        line = Line(self, server, refused=range(1, 16 + 20))
        source = self.random_file("source", MIB)
        url = server.url("file").replace(f":{server.port}", f":{line.port}")
        self.transfer("put", source, url, "--stripes", "16")
        self.assert_same(source, server.path("file"))

    def check_config(self, content):
        path = os.path.join(self.scratch, "server.yaml")
        self.file_with(path, content.encode())
        process = self.daemon_command("check-config", "--config", path, "--state", self.folder("state"))
        return process.wait(), process.stdout + process.stderr, path

    def test_settings_are_checked(self):
        code, said, _ = self.check_config("data_ports: 50000-50010\nmemory: 512MiB\n")
        self.assertEqual(code, DONE, said)
        for line in ("no_such_key: 1", "memory: 5 parsecs", "data_ports: 70000-80000", "stripes_max: 1000"):
            with self.subTest(line=line):
                code, said, path = self.check_config("log_level: info\n" + line + "\n")
                self.assertEqual(code, USAGE, said)
                self.assertIn(f"{path}:2", said)
                self.assertIn(line.split(":")[0], said)

    def test_what_the_server_would_not_start_with_is_told_before(self):
        state = self.folder("state")
        self.server(state=state).kill()
        self.assertEqual(self.check_config("log_level: info\n")[0], DONE)
        self.file_with(os.path.join(state, "key.pem"), b"-----BEGIN PRIVATE KEY-----\n")
        code, said, _ = self.check_config("log_level: info\n")
        self.assertEqual(code, USAGE, said)
        self.assertIn("cannot use the private key", said)
        self.assertIn("key.pem", said)
        for file, content, told in (("starts", b"xx", "the count of starts is damaged"),
                                    ("certificate.pem", None, "the certificate or its key is missing")):
            path = os.path.join(state, file)
            os.rename(path, path + ".before")
            if content:
                self.file_with(path, content)
            code, said, _ = self.check_config("log_level: info\n")
            self.assertEqual(code, USAGE, said)
            self.assertIn(f"{path}: {told}", said)
            os.rename(path + ".before", path)

    def test_secrets_that_others_can_read_are_told(self):
        state = self.folder("state")
        self.server(state=state).kill()
        key = os.path.join(state, "key.pem")
        for mode, told in ((0o600, False), (0o644, True)):
            with self.subTest(mode=oct(mode)):
                os.chmod(key, mode)
                code, said, _ = self.check_config("log_level: info\n")
                self.assertEqual(code, DONE, said)
                self.assertEqual(f"{key}: others can read it" in said, told, said)
                server = self.server(state=state)
                server.kill()
                self.assertEqual(f"{key}: others can read it" in server.stderr, told, server.stderr)

    def test_a_root_that_the_server_may_not_enter_is_told(self):
        need_isolation()
        closed = self.folder("closed")
        os.chmod(closed, 0)
        with self.assertRaisesRegex(AssertionError, "cannot use the root.*Permission denied"):
            self.server(root=closed, user=65534)

    def test_what_is_missing_is_told_before_the_first_start(self):
        for line in ("client_ca: /no/such/file", "root: /no/such/folder", f"root: {self.client_password}"):
            with self.subTest(line):
                code, said, _ = self.check_config(line + "\n")
                self.assertEqual(code, USAGE, said)
                self.assertIn(line.split()[1] + ": cannot use", said)
        self.assertEqual(self.check_config(f"root: {self.folder('root')}\n")[0], DONE)

    def test_a_certificate_that_ended_is_told(self):
        request, key = (os.path.join(self.scratch, name) for name in ("request", "key"))
        openssl("req", "-new", "-newkey", "ed25519", "-nodes", "-subj", "/CN=here", "-keyout", key, "-out", request)
        for days, ended in ((2, False), (-1, True)):
            with self.subTest(days=days):
                certificate = os.path.join(self.scratch, "certificate")
                openssl("x509", "-req", "-in", request, "-signkey", key, "-days", str(days), "-out", certificate)
                code, said, _ = self.check_config(f"certificate: {certificate}\nkey: {key}\n")
                self.assertEqual(code, DONE, said)
                self.assertEqual(f"{certificate}: the certificate ended on" in said, ended, said)
                server = self.server(settings={"certificate": certificate, "key": key})
                server.kill()
                said = server.stderr
                self.assertEqual(f"{certificate}: the certificate ended on" in said, ended, said)

    def test_authorities_that_are_not_there_are_named_with_the_cause(self):
        server = self.server()
        result = self.client("ls", "--ca", "/no/such/file", server.url(), trust=False)
        self.assertEqual(result.code, USAGE, str(result))
        self.assertIn("/no/such/file: cannot use the authorities: No such file or directory", result.stderr)

    def test_an_account_without_a_root_is_refused(self):
        root, state = self.folder("root"), self.folder("state")
        add = ("user", "add", "ann", "--state", state, "--password-file", self.client_password)
        process = self.daemon_command(*add)
        self.assertEqual(process.wait(), USAGE, process.stderr)
        self.assertIn("no root", process.stderr)
        process = self.daemon_command(*add, "--root", root)
        self.assertEqual(process.wait(), DONE, process.stderr)
        self.assertIn("account ann added; ", process.stdout)
        code, said, _ = self.check_config("")
        self.assertEqual(code, DONE, said)
        os.rmdir(root)
        code, said, _ = self.check_config("")
        self.assertEqual(code, USAGE, said)
        self.assertIn("make it first", said)

    def test_an_option_with_an_empty_value_is_refused(self):
        process = self.daemon_command("user", "list", "--state", "")
        self.assertEqual(process.wait(), USAGE, process.stdout)
        for option in ("--config", "--root", "--listen", "--password-file", "--copy-host", "--log-level"):
            words = ["--state", self.folder("state"), "--root", self.folder("root"), "--listen", "127.0.0.1:0",
                     "--user", "ann", "--password-file", self.client_password, "--config", "/dev/null",
                     "--copy-host", "public", "--log-level", "info"]
            words[words.index(option) + 1] = ""
            process = self.daemon_command(*words)
            self.assertEqual(process.wait(), USAGE, option)
            self.assertNotIn("listening", process.stdout)

    def test_a_server_without_account_or_settings_is_refused(self):
        process = self.daemon_command("--listen", "127.0.0.1:0", "--root", self.folder("root"), "--state",
                                      self.folder("state"))
        self.assertEqual(process.wait(), USAGE, process.stdout)
        self.assertIn("no account", process.stderr)
        self.assertNotIn("listening", process.stdout)

    def test_the_key_is_told(self):
        server = self.server()
        key = re.search(r"^key (SHA256:\S{43})$", server.stdout, re.M).group(1)
        self.assertEqual(self.client("ping", server.url()).code, DONE)
        with open(os.path.join(self.home, ".config/lambda-ftp/known_hosts")) as known:
            self.assertIn(key, known.read())
        code, said, _ = self.check_config("log_level: info\n")
        self.assertEqual(code, DONE, said)
        self.assertIn(f"key {key}\n", said)

    def test_the_log_tells_of_logins_and_transfers_alone(self):
        server = self.server()
        self.transfer("put", self.random_file("source", MIB), server.url("x"), "--stripes", "4")
        server.signal(signal.SIGTERM)
        server.wait()
        for once in (r"info: session \d+: logged in as .*, from 127\.0\.0\.1:\d+$",
                     r"info: session \d+: transfer \d+ begins for tester: put",
                     r"info: transfer \d+: ended: files=1;"):
            self.assertEqual(len(re.findall(once, server.stderr, re.M)), 1, f"{once} in {server.stderr}")
        self.assertNotRegex(server.stderr, r"session \d+: (connected|joined|ended)")

    def test_the_log_tells_what_was_fetched_and_changed(self):
        server = self.server()
        for name in "abcde":
            self.random_file(name, KIB, folder="root")
        wanted = [server.url(name) for name in "abcde"]
        self.assertEqual(self.client("get", *wanted, self.folder("here")).code, DONE)
        self.assertEqual(self.client("get", server.url("nothing"), self.folder("here")).code, FILE_FAILED)
        for command in (("mkdir", "new"), ("mv", "a", "new/a"), ("rm", "new/a"), ("rmdir", "new")):
            operands = [server.url(name) for name in command[1:]]
            self.assertEqual(self.client(command[0], *operands).code, DONE, command)
            self.assert_failed(self.client(command[0], *operands), FILE_FAILED)  # and changes nothing
        server.signal(signal.SIGTERM)
        server.wait()
        self.assertRegex(server.stderr, r"transfer \d+: ended: get of /?a, /?b, /?c and 2 more: files=5;")
        self.assertRegex(server.stderr, r"transfer \d+: ended: get of /?nothing: files=0;")
        changes = re.findall(r"session \d+: tester (.*)$", server.stderr, re.M)
        self.assertEqual(changes, ["made the directory /new", "renamed /a to /new/a", "removed /new/a",
                                   "removed the directory /new"])

    def test_secrets_in_an_accounts_root_are_told(self):
        root = self.folder("root")
        told = "which lies in its root"
        for state in ("root/state", "elsewhere"):
            server = self.server(root=root, state=self.folder(state))
            self.assertEqual(told in server.stderr, state.startswith("root"), server.stderr)
            server.kill()

    def test_a_certificate_that_is_not_taken_is_told_at_both_ends(self):
        server = self.server()
        certificate, key = (os.path.join(self.scratch, name) for name in ("mine.pem", "mine.key"))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tester", "-out", certificate,
                "-keyout", key)
        source = self.random_file("source", 1000)
        refused = self.client("put", "--certificate", certificate, "--key", key, "--retry-for", "1h", source,
                              server.url("x"), password=False)
        self.assert_failed(refused, NO_SESSION)  # at once: it will be refused again
        self.assertEqual([error["code"] for error in refused.errors], ["session"])
        why = "not taken (client_ca is not set)"
        self.assertIn(why, refused.said())
        told = "the certificate is not taken for tester: client_ca is not set, from 127.0.0.1:"
        wait_for(lambda: told in server.stderr, "the same in the log")

    def test_accounts_are_read_again(self):
        server = self.server()
        source = self.random_file("source", 1000)
        url = server.url("x", user="late")
        self.assert_failed(self.client("put", source, url), NO_SESSION)
        self.assertEqual(self.daemon_command("user", "add", "late", "--state", server.state, "--root", server.root,
                                             "--password-file", self.client_password).wait(), DONE)
        server.signal(signal.SIGHUP)
        wait_for(lambda: self.client("put", source, url).code == DONE, "the new account")
        self.transfer("put", source, server.url("y"))
        # A password that was known lately is of no use once the account has another.
        self.assertEqual(self.daemon_command("user", "add", "late", "--state", server.state, "--root", server.root,
                                             "--password-file", self.secret("new", "another one")).wait(), DONE)
        self.assertEqual(self.client("put", source, url).code, DONE)
        server.signal(signal.SIGHUP)
        wait_for(lambda: self.client("put", source, url).code == NO_SESSION, "the new password")

    def test_accounts_that_are_gone_lock_nobody_out(self):
        server = self.server()
        self.assertEqual(self.daemon_command("user", "add", "ben", "--state", server.state, "--root", server.root,
                                             "--password-file", self.client_password).wait(), DONE)
        source, url = self.random_file("source", 1000), server.url("x", user="ben")
        server.signal(signal.SIGHUP)
        wait_for(lambda: self.client("put", source, url).code == DONE, "the account")
        os.unlink(os.path.join(server.state, "accounts.yaml"))
        server.signal(signal.SIGHUP)
        wait_for(lambda: re.search("accounts not reloaded: .*accounts.yaml: cannot read: No such file or directory",
                                   server.stderr), "the answer")
        self.assertEqual(self.client("put", source, url).code, DONE)

    def test_a_call_to_reload_while_it_starts(self):
        password = os.path.join(self.folder("secrets"), "password")
        os.mkfifo(password, 0o600)
        server = self.daemon_command("--root", self.folder("root"), "--listen", "127.0.0.1:0", "--user", USER,
                                     "--password-file", password, "--state", self.folder("state"))
        with open(password, "w") as start:  # by now it waits for the password
            server.signal(signal.SIGHUP)
            start.write("secret\n")
        wait_for(lambda: "listening on" in server.stdout, "the start", alive=server.running)
        with open(password, "w") as again:
            again.write("secret\n")
        wait_for(lambda: "log level reloaded" in server.stderr, "the reload", alive=server.running)

    def test_a_port_that_is_taken(self):
        server = self.server()
        process = self.daemon_command("--root", server.root, "--listen", f"{server.host}:{server.port}", "--user",
                                      "x", "--password-file", server.password_file, "--state", self.folder("other"))
        self.assertNotEqual(process.wait(), DONE)
        self.assertIn(str(server.port), process.stderr)


class Programs(Case):
    def test_version_and_help(self):
        for folder, program in ((Settings.bin_dir, "lambda-ftp"), (Settings.bin_dir, "lambda-ftpd"),
                                (Settings.tools_dir, "lambda-lab"), (Settings.tools_dir, "lambda-sim")):
            for arguments in (["--help"], ["version"], ["--version"]):
                if arguments == ["version"] and program != "lambda-ftp":
                    continue
                result = subprocess.run([os.path.join(folder, program), *arguments], capture_output=True,
                                        env=self.environment)
                self.assertEqual(result.returncode, DONE, (program, arguments, result.stderr))
                self.assertTrue(result.stdout.strip())

    def test_a_value_that_would_count_for_nothing_is_refused(self):
        lab, sim = ("lambda-lab", "run"), ("lambda-sim", "flows", "--flow", "law=fixed,rtt=1ms", "--duration")
        for command, words, said in (
                (lab, ["--seed", "-1"], b"'-1' is no number"),
                (lab, ["--seed", "99999999999999999999"], b"is no number"),
                (lab, ["--loss-burst", "5"], b"--loss-burst: goes with --loss"),
                (lab, ["--reorder-by", "3ms"], b"--reorder-by: goes with --reorder"),
                (lab, ["--ready-within", "3s"], b"--ready-within goes with --ready"),
                (lab, ["--json", ""], b"empty"),
                (sim, ["1s", "--seed", "-1"], b"'-1' is no number"),
                (sim, ["1s", "--burst", "3"], b"--burst: goes with --loss"),
                (sim, ["0s"], b"--duration: "),
                (sim, ["99ms"], b"--duration: "),
                (sim, ["1s", "--flow", ""], b"empty"),
                (("lambda-sim", "run", "r1"), ["--seed", "18446744073709551616"], b"is no number")):
            with self.subTest(words):
                program, *verb = command
                result = subprocess.run([os.path.join(Settings.tools_dir, program), *verb, *words,
                                         *(("--", "true") if command == lab else ())],
                                        capture_output=True, env=self.environment)
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn(said, result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "logs")))

    def test_an_option_with_nothing_behind_its_sign_takes_no_other_word(self):
        kept = self.file_with(os.path.join(self.scratch, "kept"), b"kept")
        for folder, program, *words in (
                (Settings.bin_dir, "lambda-ftp", "put", "--receipt=", kept, "h:"),
                (Settings.bin_dir, "lambda-ftpd", "check-config", "--state=", self.folder("state")),
                (Settings.tools_dir, "lambda-lab", "run", "--json=", kept, "--", "true"),
                (Settings.tools_dir, "lambda-sim", "flows", "--duration", "1s", "--csv=", kept)):
            with self.subTest(program):
                result = subprocess.run([os.path.join(folder, program), *words], capture_output=True,
                                        env=self.environment)
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn(b"nothing behind its =", result.stderr)
        with open(kept, "rb") as file:
            self.assertEqual(file.read(), b"kept")
