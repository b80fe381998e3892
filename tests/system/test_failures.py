"""What must not work does not, and says why."""

import os
import re
import resource
import socket
import subprocess

from harness import DONE, FILE_FAILED, KIB, MIB, NO_SESSION, PASSWORD, USAGE, USER, Case, Settings, need_isolation, support_program, wait_for

NOBODY = 65534


class Sources(Case):
    def test_a_pipe_that_was_named_is_no_success(self):
        server = self.server()
        pipe = os.path.join(self.folder("local"), "pipe")
        os.mkfifo(pipe)
        result = self.client("put", pipe, server.url("there"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("it is a pipe", result.said())
        os.mkfifo(os.path.join(server.root, "pipe"))
        self.assert_failed(self.client("get", server.url("pipe"), self.folder("back")), FILE_FAILED)
        # Within a tree, and by a pattern, they are passed over.
        self.assertEqual(self.client("put", self.folder("local"), server.url("tree")).code, DONE)

    def test_the_servers_log_tells_whose_disk_it_was(self):
        server = self.server()
        source = self.random_file("source", 10)
        self.transfer("put", source, server.url("there"))
        back = self.folder("back")
        os.mkdir(os.path.join(back, "there"))
        self.assert_failed(self.client("get", server.url("there"), back + "/"), FILE_FAILED)
        wait_for(lambda: "there (at the client): " in server.stderr, "the log to tell of it")
        os.mkdir(server.path("in"))
        self.assert_failed(self.client("put", source, server.url("in/../there/below")), FILE_FAILED)
        self.assertNotIn("(on the server)", server.stderr)

    def test_what_is_done_is_not_left_over_any_more(self):
        server = self.server()
        source, left = self.random_file("source", 10), os.path.join(self.scratch, "left")
        missing = os.path.join(self.folder("local"), "missing")
        self.assert_failed(self.client("put", "--left-over", left, source, missing, server.url("to/")), FILE_FAILED)
        self.file_with(missing, b"here")
        self.assertEqual(self.client("put", "--from-file", left, "--left-over", left, server.url("to/")).code, DONE)
        self.assertEqual(os.stat(left).st_size, 0)

    def test_two_lists_by_standard_input_are_refused(self):
        for one, other in (("--exclude-from", "--from-file"), ("--from-file", "--include-from"),
                           ("--exclude-from", "--include-from"), ("--exclude-from", "--exclude-from")):
            with self.subTest(one=one, other=other):
                result = self.client("put", one, "-", other, "-", self.folder("local"), "127.0.0.1:1")
                self.assert_failed(result, USAGE)
                self.assertIn("another list comes by standard input already", result.said())

    def test_rules_without_a_pattern_and_lists_without_an_end_are_refused(self):
        rules = self.file_with(os.path.join(self.scratch, "rules"), b"- a\n- \n")
        for option, value, said in (("--exclude", "- ", "a rule has no pattern"),
                                    ("--exclude-from", rules, f"{rules}: a rule has no pattern"),
                                    ("--exclude-from", "/dev/zero", "/dev/zero: larger than the 1.00 MiB"),
                                    ("--from-file", "/dev/zero", "/dev/zero: larger than the 256.00 MiB")):
            with self.subTest(option=option, value=value):
                sources = () if option == "--from-file" else (self.folder("local"),)
                result = self.client("put", option, value, *sources, "lambda://127.0.0.1:1/")
                self.assert_failed(result, USAGE)
                self.assertIn(said, result.said())

    def test_a_listed_name_with_a_colon_that_is_gone_fails_alone(self):
        server, gone = self.server(), "2026-01-01T10:00:00.log"
        source, left = self.random_file("source", 10), os.path.join(self.scratch, "left")
        names = self.file_with(os.path.join(self.scratch, "names"), b"\n".join(map(os.fsencode, (source, gone))))
        result = self.client("put", "--from-file", names, "--left-over", left, server.url("to/"))
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual([error["path"] for error in result.errors], [gone])
        self.assert_same(source, server.path("to/source"))
        with open(left, "rb") as file:
            self.assertEqual(file.read(), os.fsencode(gone) + b"\0")

    def test_names_that_came_through_a_pipe_are_kept(self):
        """Also of one, and where nothing began."""
        for names, destination, code in ((b"one\0", self.server().url("to/"), FILE_FAILED),
                                         (b"one\0two\0", "127.0.0.1:1", NO_SESSION)):
            with self.subTest(code=code):
                reader, writer = os.pipe()
                os.write(writer, names)
                os.close(writer)
                with open(reader) as pipe:
                    result = self.client("put", "--from-file", "-", destination, stdin=pipe)
                self.assert_failed(result, code)
                with open(result.summary["left_over"], "rb") as file:
                    self.assertEqual(file.read(), names)
        again = self.client("put", "--from-file", result.summary["left_over"], "127.0.0.1:1")
        self.assert_failed(again, NO_SESSION)
        self.assertIsNone(again.summary["left_over"])

    def test_a_list_of_what_is_left_over_that_has_no_place_is_told_before_anything_moves(self):
        server = self.server()
        source = self.random_file("source", KIB)
        nowhere = os.path.join(self.scratch, "nowhere", "left")
        for command in (["put", source, server.url("to")], ["get", server.url("there"), self.scratch],
                        ["sync", self.folder("tree"), server.url("to/")],
                        ["copy", server.url("there"), server.url("to")]):
            for place in (nowhere, self.scratch, os.path.join(os.fsdecode(source), "left")):
                with self.subTest(command[0], place=place):
                    result = self.client(*command, "--left-over", place)
                    self.assert_failed(result, USAGE)
                    self.assertIn(f"{place}: the list of what is left over cannot be written", result.stderr)
                    self.assertIn("name a file in a directory", result.stderr)
        self.assertEqual(os.listdir(server.root), [])

    def test_a_list_of_what_is_left_over_may_lie_in_what_a_get_makes(self):
        server = self.server()
        self.file_with(server.path("a"), b"a")
        new = os.path.join(self.scratch, "new")
        for left in (os.path.join(new, "left"), "/dev/null"):
            result = self.client("get", server.url("a"), server.url("c"), new + "/", "--left-over", left)
            self.assert_failed(result, FILE_FAILED)
        with open(os.path.join(new, "left"), "rb") as file:
            self.assertEqual(file.read(), server.url("c").encode() + b"\0")

    def test_the_list_of_what_is_left_over_takes_the_place_of_nothing(self):
        server = self.server()
        source = self.random_file("source", 10)
        self.transfer("put", source, server.url("there"))
        target = os.path.join(self.scratch, "target")
        for wrong in (["put", "--left-over", source, source, server.url("to/")],
                      ["put", "--left-over", source, self.folder("local"), server.url("to/")],
                      ["get", "--left-over", target, server.url("there"), target]):
            self.assert_failed(self.client(*wrong), USAGE)
        self.assertEqual(os.stat(source).st_size, 10)
        self.assertFalse(os.path.exists(target))

    def test_what_failed_elsewhere_leaves_nothing_of_a_done_directory_over(self):
        server = self.server()
        self.random_file("a", 10, folder="local/runs")
        runs, missing = os.path.join(self.folder("local"), "runs/"), os.path.join(self.folder("local"), "missing")
        left = os.path.join(self.scratch, "left")
        self.assert_failed(self.client("put", "--left-over", left, runs, missing, server.url("to/")), FILE_FAILED)
        with open(left, "rb") as file:
            self.assertEqual(file.read(), os.fsencode(missing) + b"\0")

    def test_what_failed_in_one_of_two_directories_is_left_over(self):
        server = self.server()
        for name in ("d", "a/d"):
            self.random_file("y", 10, folder=f"local/{name}")
        self.file_with(os.path.join(self.folder("local"), "f"), b"f")
        self.file_with(os.path.join(self.folder("local"), "a/f"), b"a/f")
        d, a, f = (os.path.join(self.folder("local"), name) for name in ("d", "a/", "f"))
        left = os.path.join(self.scratch, "left")
        for sources, lacks in (([d, a], [a]), ([a, f], [f]), ([f, a], [a])):
            with self.subTest(sources=sources):
                result = self.client("put", "--left-over", left, *sources, server.url("to/"))
                self.assert_failed(result, FILE_FAILED)
                with open(left, "rb") as file:
                    self.assertEqual(file.read(), b"".join(os.fsencode(each) + b"\0" for each in lacks))

    def test_links_that_are_skipped_hold_nothing(self):
        server = self.server()
        local = self.folder("local")
        os.makedirs(os.path.join(local, "a"))
        self.file_with(os.path.join(self.folder("local/b/d"), "x"), b"x")
        os.symlink("../b/d", os.path.join(local, "a/d"))
        result = self.client("put", "--links", "skip", local + "/a/", local + "/b/", server.url("to"))
        self.assertEqual(result.code, DONE, str(result))
        self.assert_same(os.path.join(local, "b/d/x"), server.path("to/d/x"))

    def test_two_directories_with_a_file_of_one_name(self):
        server = self.server()
        for name in ("a", "b"):
            self.file_with(os.path.join(self.folder(f"local/{name}/deep"), "same"), name.encode())
            self.file_with(os.path.join(self.folder(f"local/{name}"), name), name.encode())
        local = self.folder("local")
        result = self.client("put", local + "/a/", local + "/b/", server.url("to"))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn(f"would land where '{local}/a/deep/same' does", result.said())
        with open(server.path("to/deep/same"), "rb") as file:
            self.assertEqual(file.read(), b"a")
        self.assertEqual(sorted(os.listdir(server.path("to"))), [b"a", b"b", b"deep"])
        back = self.folder("back")
        os.rename(local + "/a", os.path.join(server.root, "a"))
        os.rename(local + "/b", os.path.join(server.root, "b"))
        result = self.client("get", server.url("b/"), server.url("a/"), back)
        self.assert_failed(result, FILE_FAILED)
        with open(os.path.join(back, "deep/same"), "rb") as file:
            self.assertEqual(file.read(), b"b")

    def test_no_file_is_put_under_a_name_of_what_a_cut_leaves(self):
        server = self.server()
        name = ".lambda-" + "0123456789abcdef" * 2 + ".part"
        result = self.client("put", self.random_file("source", 10), server.url(name))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn("another name", result.said())
        self.assertFalse(os.path.exists(server.path(name)))

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w") as full:
            for words in (("version",), ("put", "--help")):
                run = subprocess.run([os.path.join(Settings.bin_dir, "lambda-ftp"), *words], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(run.returncode, FILE_FAILED)
                self.assertIn(b"cannot write to stdout", run.stderr)

    def test_quiet_says_errors_alone(self):
        server, source = self.server(), self.random_file("source", 100_000)

        def said(*options, **how):
            result = self.client("put", *options, source, server.url("there"), json=False, **how)
            self.assertEqual(result.code, DONE, str(result))
            return result.stderr
        forbidden = {"launcher": [support_program("without_uring")]}
        self.assertIn("warning: files are read and written by threads", said(**forbidden))
        self.assertEqual(said("--quiet", **forbidden), "")
        self.assertIn("warning: ", said("--quiet", "--log-level", "info", **forbidden))
        # What the user chose is none.
        self.assertNotIn("warning", said("--no-uring"))
        self.assertIn("by threads", said("--no-uring", "--log-level", "debug"))

    def test_a_file_beyond_the_servers_limit_fails_alone(self):
        server = self.server()
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (MIB, MIB))
        large, small = self.random_file("large", 3 * MIB), self.random_file("small", 1000)
        self.assert_failed(self.client("put", large, server.url("large")), FILE_FAILED)
        self.transfer("put", small, server.url("small"))
        self.assert_serving(server)


class Sessions(Case):
    def test_a_wrong_password(self):
        server = self.server()
        source = self.random_file("source", 100)
        right, self.client_password = self.client_password, self.secret("wrong", "something else")
        wrong = self.client("put", source, server.url("x"))
        self.assert_failed(wrong, NO_SESSION)
        stranger = self.client("put", source, server.url("x", user="nobody-here"))
        self.assert_failed(stranger, NO_SESSION)
        self.assertEqual([error["message"] for error in wrong.errors],
                         [error["message"].replace("nobody-here", USER) for error in stranger.errors],
                         "the answers tell which users exist")
        self.assertNotIn(PASSWORD, server.stdout + server.stderr)
        self.assertNotIn("something else", server.stdout + server.stderr)
        self.assertFalse(os.path.exists(server.path("x")))
        self.client_password = right
        self.assert_serving(server)

    def test_settings_that_cannot_be_read_are_not_passed_over(self):
        settings = os.path.join(self.folder("home/.config/lambda-ftp"), "client.yaml")
        os.symlink(os.path.join(self.scratch, "gone"), settings)
        refused = self.client("ping", "127.0.0.1:1")
        self.assert_failed(refused, USAGE)
        self.assertIn("client.yaml", refused.said() + str(refused.errors))
        os.unlink(settings)
        self.file_with(settings, b"stripes: x\n")
        self.assertIn("client.yaml:1: ", self.client("ping", "127.0.0.1:1").said())
        # What tells how they should be is told all the same.
        for words in (("put", "--help"), ("help", "put"), ("version",), ("--version",), ("completion",)):
            self.assertEqual(self.client(*words, password=False, trust=False).code, DONE, words)
        self.assertIn("client.yaml:1: ", self.client("help", "--no-such-option").said())
        os.unlink(settings)
        self.assertEqual(self.client("ping", "127.0.0.1:1").code, NO_SESSION)

    def test_a_password_file_for_all_to_read_is_warned_of(self):
        server = self.server()
        os.chmod(self.client_password, 0o644)
        result = self.client("ls", server.url())
        self.assertEqual(result.code, DONE)
        self.assertIn("client-password", result.stderr)

    def test_the_password_from_the_environment(self):
        server = self.server()
        source = self.random_file("source", 100)
        self.environment["LAMBDA_FTP_PASSWORD"] = PASSWORD
        self.transfer("put", source, server.url("x"), password=False)

    def test_no_password_and_no_terminal(self):
        server = self.server()
        result = self.client("ls", server.url(), password=False)
        self.assert_failed(result, NO_SESSION)
        self.assertIn(f"no terminal to ask on for the password of {USER} at 127.0.0.1:", result.said())

    def test_an_unknown_host_key(self):
        server = self.server()
        source = self.random_file("source", 100)
        result = self.client("put", source, server.url("x"), trust=False)
        self.assert_failed(result, NO_SESSION)
        self.assertFalse(os.path.exists(server.path("x")))
        self.transfer("put", source, server.url("x"))
        self.transfer("put", source, server.url("y"), trust=False)  # known from now on

    def test_a_changed_host_key(self):
        first = self.server()
        source = self.random_file("source", 100)
        self.transfer("put", source, first.url("x"))
        first.kill()
        second = self.server(state=self.folder("other-state"), root=self.folder("other-root"),
                             listen=f"{first.host}:{first.port}")
        result = self.client("put", source, second.url("x"))
        self.assert_failed(result, NO_SESSION)
        prints = set(re.findall(r"SHA256:[A-Za-z0-9+/=]{40,}|\b(?:[0-9A-Fa-f]{2}:){19,}[0-9A-Fa-f]{2}\b|"
                                r"\b[0-9a-f]{64}\b", result.said()))
        self.assertEqual(len(prints), 2, "both fingerprints: " + result.said())
        self.assertFalse(os.path.exists(second.path("x")))

    def test_nobody_listens(self):
        server = self.server()
        server.kill()
        result = self.client("ls", server.url())
        self.assert_failed(result, NO_SESSION)
        self.assertNotIn("another port", result.said())
        # An address of this machine that nobody listens at; what looks like a port is a name.
        for arguments in (("ls", "tester@127.43.21.7:29111/runs"), ("ping", "tester@127.43.21.7")):
            result = self.client(*arguments)
            self.assert_failed(result, NO_SESSION)
            self.assertIn("another port is written lambda://user@host:PORT/path", result.said())

    def test_a_host_without_a_name(self):
        self.assert_failed(self.client("ls", "lambda://tester@does-not-exist.invalid/"), NO_SESSION)

    def test_a_server_that_is_none(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            process = self.start("ls", f"lambda://tester@127.0.0.1:{port}/")
            connection = listener.accept()[0]
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)
            process.wait()
            connection.close()
        self.assertEqual(process.wait(), NO_SESSION, process.stderr)
        self.assertTrue(process.stderr.strip())


class Jail(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()
        self.outside = self.folder("outside")
        self.secret_file = self.file_with(os.path.join(self.outside, "secret"), b"nobody may read this")
        self.source = self.random_file("source", 1000)

    def refused(self, *arguments):
        result = self.client(*arguments)
        self.assert_failed(result, FILE_FAILED)

    def assert_untouched(self):
        self.assertEqual(os.listdir(self.outside), ["secret"])
        with open(self.secret_file, "rb") as file:
            self.assertEqual(file.read(), b"nobody may read this")
        self.assertEqual(os.listdir(self.folder("back")), [])

    def test_dots(self):
        back = self.folder("back")
        for way in ("../outside/secret", "a/../../outside/secret", "%2e%2e/outside/secret",
                    "..%2foutside%2fsecret", "./../outside/secret"):
            with self.subTest(way=way):
                url = f"{self.daemon.url()}{way}"
                self.refused("get", url, back)
                self.refused("stat", url)
                self.refused("put", self.source, url)
                self.refused("rm", url)
                self.assert_untouched()
        self.assertTrue(self.daemon.running())

    def test_absolute_paths_start_at_the_root(self):
        back = self.folder("back")
        url = f"{self.daemon.url()}{self.outside}/secret"  # two slashes: an absolute path
        self.refused("get", url, back)
        self.refused("get", self.daemon.url("/etc/passwd"), back)
        self.assert_untouched()
        os.mkdir(self.daemon.path("etc"))
        self.file_with(self.daemon.path("etc/passwd"), b"the root's own")
        self.transfer("get", self.daemon.url("/etc/passwd"), os.path.join(self.folder("mine"), "passwd"))
        with open(os.path.join(self.folder("mine"), "passwd"), "rb") as file:
            self.assertEqual(file.read(), b"the root's own")

    def test_symbolic_links(self):
        back = self.folder("back")
        os.symlink(self.secret_file, self.daemon.path("to-file"))
        os.symlink(self.outside, self.daemon.path("to-folder"))
        os.symlink("../outside/secret", self.daemon.path("relative"))
        os.symlink("/proc/self/cwd", self.daemon.path("magic"))
        for name in ("to-file", "to-folder/secret", "relative", "magic/etc/passwd"):
            with self.subTest(name=name):
                self.refused("get", self.daemon.url(name), back)
        self.refused("put", self.source, self.daemon.url("to-folder/new"))
        self.refused("mkdir", self.daemon.url("to-folder/new"))
        self.assert_untouched()
        # A link as the target is replaced or refused, never followed.
        self.client("put", self.source, self.daemon.url("to-file"))
        self.assert_untouched()
        self.assert_serving(self.daemon)


class Rights(Case):
    def test_a_read_only_account(self):
        root, state = self.folder("root"), self.folder("state")
        self.assertEqual(self.daemon_command("user", "add", "reader", "--state", state, "--root", root, "--read-only",
                                             "--password-file", self.client_password).wait(), DONE)
        server = self.server(root=root, state=state)
        self.file_with(server.path("readable"), b"content")
        source = self.random_file("source", 1000)
        back = self.folder("back")
        self.transfer("get", server.url("readable", user="reader"), back)
        for arguments in (["put", source, server.url("x", user="reader")],
                          ["mkdir", server.url("d", user="reader")],
                          ["rm", server.url("readable", user="reader")],
                          ["mv", server.url("readable", user="reader"), server.url("y", user="reader")]):
            with self.subTest(command=arguments[0]):
                self.assert_failed(self.client(*arguments), FILE_FAILED)
        self.assertEqual(os.listdir(server.root), ["readable"])
        self.assertEqual(os.listdir(back), ["readable"])

    def test_a_path_that_no_line_has_room_for(self):
        long = "/".join(["a" * 15] * 600)
        result = self.client("put", self.random_file("source", 1), self.server().url(long))
        self.assert_failed(result, FILE_FAILED)
        self.assertIn(long, result.stderr)
        self.assertNotIn("nonce", result.stderr)

    def test_an_unwritable_target(self):
        need_isolation()  # root, to serve as somebody else
        server = self.server(user=NOBODY)
        os.makedirs(server.path("closed"), mode=0o755)
        self.file_with(server.path("closed/mine"), b"content")
        os.chmod(server.path("closed/mine"), 0o600)
        source = self.random_file("source", 3_000_000)
        self.assert_failed(self.client("put", source, server.url("closed/x")), FILE_FAILED)
        self.assert_failed(self.client("get", server.url("closed/mine"), self.folder("back")), FILE_FAILED)
        self.assert_failed(self.client("mkdir", server.url("closed/d")), FILE_FAILED)
        self.assertEqual(os.listdir(server.path("closed")), [b"mine"])
        self.assertEqual(os.listdir(self.folder("back")), [])
        self.assert_serving(server)

    def test_an_unwritable_local_folder(self):
        need_isolation()
        server = self.server()
        self.file_with(server.path("file"), self.random.randbytes(100_000))
        closed = self.folder("closed")
        os.chown(self.home, NOBODY, NOBODY)
        os.chown(self.client_password, NOBODY, NOBODY)
        result = self.client("get", server.url("file"), closed, user=NOBODY)
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(os.listdir(closed), [])

    def test_a_directory_is_in_the_way(self):
        server = self.server()
        os.makedirs(server.path("target/source"))
        source = self.random_file("source", 1000)
        self.assert_failed(self.client("put", source, server.url("target")), FILE_FAILED)
        self.assertTrue(os.path.isdir(server.path("target/source")))
        here = self.folder("here")
        os.makedirs(os.path.join(here, "source"))
        self.file_with(server.path("source"), b"x")
        self.assert_failed(self.client("get", server.url("source"), here), FILE_FAILED)
        self.assertTrue(os.path.isdir(os.path.join(here, "source")))

    def test_what_lies_below_a_file_in_the_way_is_named_as_this_side_does(self):
        server = self.server()
        first = server.path("tree/directory/first")
        os.makedirs(os.path.dirname(first))
        self.file_with(first, b"content")
        os.link(first, server.path("tree/further"))
        here = self.folder("here")
        self.file_with(os.path.join(self.folder("here/tree"), "directory"), b"in the way")
        result = self.client("get", server.url("tree"), here)
        self.assert_failed(result, FILE_FAILED)
        self.assertEqual(sorted(error["path"] for error in result.errors),
                         [f"{here}/tree/{name}" for name in ("directory", "directory/first", "further")])

    def test_a_file_is_in_the_way_of_a_directory(self):
        server = self.server()
        self.file_with(server.path("file"), b"x")
        source = self.random_file("source", 1000)
        self.assert_failed(self.client("put", source, server.url("file/below")), FILE_FAILED)
        self.assertEqual(self.client("stat", server.url("file")).code, DONE)
