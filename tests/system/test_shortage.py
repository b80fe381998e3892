"""Where the machine gives a process few threads or files, and where others write in a tree that is sent."""

import os
import shutil
import socket
import subprocess
import time

from harness import (CUT, DONE, FILE_FAILED, MIB, NO_SESSION, Case, need, need_program, sanitized, support_program,
                     wait_for)
from sessions import TERMS, Session


class ShortageTest(Case):
    def many(self, folder, count):
        os.makedirs(folder, exist_ok=True)
        for number in range(count):
            self.file_with(os.path.join(folder, f"f{number:04}"), os.urandom(66_000))
        return folder

    def test_a_server_without_another_thread_refuses_and_goes_on(self):
        need(os.geteuid() == 0, "only root can start a server as a user whose threads are counted")
        need_program("prlimit")
        user = 61_234
        source = self.random_file("one", 100_000)
        server = self.server(user=user)
        threads = len(os.listdir(f"/proc/{server.pid}/task"))
        server.kill()
        for more in (0, 1, 3, 7):
            limit = threads + more
            server = self.server(user=user, launcher=("prlimit", f"--nproc={limit}:{limit}"))
            for _ in range(2):
                refused = self.client("put", source, server.url("one"))
                self.assert_failed(refused, CUT)
                self.assertIn("cannot start a thread", refused.said(), str(refused))
            self.assertEqual(self.client("ls", server.url()).code, DONE)
            self.assertNotIn("terminate called", server.stderr)
            server.kill()

    def test_strangers_leave_the_last_files_to_others(self):
        need_program("prlimit")
        server = self.server(settings={"sessions_max": 400, "sessions_per_address": 400, "login_timeout": "5min"},
                             launcher=("prlimit", "--nofile=256:256"))
        for _ in range(300):
            stranger = socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0))
            self.addCleanup(stranger.close)
        self.transfer("put", self.random_file("one", 100_000), server.url("one"))
        for told in ("gave way to another", "at most 32 sessions, though sessions_max is 400"):
            wait_for(lambda: told in server.stderr, told)

    def test_a_password_that_no_memory_can_check_is_not_called_wrong(self):
        need_program("prlimit")
        server = self.server()
        self.allow(server, 8 * MIB)
        refused = self.client("ls", server.url())
        self.assert_failed(refused, NO_SESSION)
        self.assertIn("has not the memory", refused.said())
        wait_for(lambda: "has not the memory" in server.stderr, "the same in the log")
        subprocess.run(["prlimit", f"--pid={server.pid}", "--as=unlimited:"], check=True)
        self.assertEqual(self.client("ls", server.url()).code, DONE)

    def allow(self, server, more):
        """From now on so many bytes more than it has."""
        with open(f"/proc/{server.pid}/statm") as statm:
            room = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + more
        need(room < 2**40, "a sanitizer's server has all memory reserved")
        subprocess.run(["prlimit", f"--pid={server.pid}", f"--as={room}:"], check=True)

    def test_a_ring_without_memory_is_refused_for_now(self):
        need_program("prlimit")
        server = self.server(settings={"transfer_memory": "256MiB"})
        source = self.random_file("one", 4 * MIB)
        self.assertEqual(self.client("ls", server.url()).code, DONE)  # its user is known from now on
        self.allow(server, 100 * MIB)
        refused = self.client("put", "--memory", "1GiB", source, server.url("one"))
        self.assert_failed(refused, CUT)
        self.assertIn("cannot reserve the memory of the ring", refused.said())
        self.assertIn("(450)", refused.said())
        self.assertIn("LimitAS", refused.said())
        subprocess.run(["prlimit", f"--pid={server.pid}", "--as=unlimited:"], check=True)
        self.assert_serving(server)

    def without_memory(self, gone, bytes_from, *variables, **how):
        """A server that has none for pieces of so many bytes, but in its first thread, while `gone` exists."""
        need(not sanitized(), "a sanitizer has an allocator of its own")
        return self.server(launcher=("env", f"LD_PRELOAD={support_program('no_memory.so')}", f"NO_MEMORY={gone}",
                                     f"NO_MEMORY_FROM={bytes_from}", *variables), **how)

    def test_want_of_memory_ends_a_transfer_and_no_other(self):
        source = self.random_file("one", 8 * MIB)
        changed = self.random_file("changed", 8 * MIB)
        os.utime(changed, (1, 1))
        # The transfer's own thread; and one that works for it.
        for who, bytes_from, command in (("mover", 1 << 16, ("put",)), ("worker", 1 << 20, ("put", "--checksum"))):
            with self.subTest(who):
                gone = os.path.join(self.scratch, f"gone-{who}")
                server = self.without_memory(gone, bytes_from, root=self.folder(f"root-{who}"))
                self.folder(f"tree-{who}")
                tree = os.path.join(self.scratch, f"tree-{who}")
                shutil.copy2(source, os.path.join(tree, "one"))
                os.mkdir(server.path("tree"))
                shutil.copy2(changed, server.path("tree/one"))
                other = self.start("put", "--rate-limit", "20Mbit/s", source, server.url("slow"))
                self.wait_for_part(server.root, other, MIB)
                self.file_with(gone, b"")
                cut = self.client(*command, tree + "/", server.url("tree"))
                self.assert_failed(cut, CUT)
                self.assertIn("the transfer cannot go on: Cannot allocate memory", cut.said() + server.stderr)
                os.unlink(gone)
                self.assertEqual(other.wait(), DONE, other.stderr)
                self.transfer(*command, tree + "/", server.url("tree"))
                self.assert_serving(server)

    def test_a_walk_without_memory_ends_its_transfer_and_no_other(self):
        gone = os.path.join(self.scratch, "gone")
        server = self.without_memory(gone, 1 << 18)
        os.mkdir(server.path("many"))
        for number in range(5_000):
            self.file_with(server.path(f"many/{number}"), b"")
        other = self.start("put", "--rate-limit", "20Mbit/s", self.random_file("one", 8 * MIB), server.url("slow"))
        self.wait_for_part(server.root, other, MIB)
        self.file_with(gone, b"")
        cut = self.client("get", server.url("many"), self.folder("got"))
        self.assert_failed(cut, CUT)
        self.assertIn("the transfer cannot go on: Cannot allocate memory", cut.said() + server.stderr)
        os.unlink(gone)
        self.assertEqual(other.wait(), DONE, other.stderr)
        self.assert_serving(server)

    def test_a_copy_without_memory_is_cut(self):
        gone = os.path.join(self.scratch, "gone")
        source = self.server(root=self.folder("from"), state=self.folder("from-state"))
        server = self.without_memory(gone, 2048, settings={"copy_hosts": '["127.0.0.1"]'})
        self.random_file("one", MIB, folder="from")
        self.file_with(gone, b"")
        copy = ("copy", "--source-password-file", self.client_password, source.url("one"), server.url("copied"))
        cut = self.client(*copy)
        self.assert_failed(cut, CUT)
        self.assertIn("Cannot allocate memory", cut.said() + server.stderr)
        os.unlink(gone)
        self.assertEqual(self.client(*copy).code, DONE)

    def test_a_listing_or_checksum_without_memory_is_refused(self):
        gone = os.path.join(self.scratch, "gone")
        server = self.without_memory(gone, 1 << 16)
        many = self.folder("root/many")
        for number in range(1_000):
            self.file_with(os.path.join(many, 100 * "x" + str(number)), b"")
        self.random_file("one", 8 * MIB, folder="root")
        other = self.start("put", "--rate-limit", "20Mbit/s", self.random_file("two", 8 * MIB), server.url("slow"))
        self.wait_for_part(server.root, other, MIB)
        self.file_with(gone, b"")
        for command in (("ls", server.url("many")), ("checksum", server.url("one"))):
            refused = self.client(*command)
            self.assertNotEqual(refused.code, DONE, str(refused))
            self.assertIn("Cannot allocate memory", refused.said(), str(refused))
        os.unlink(gone)
        self.assertEqual(other.wait(), DONE, other.stderr)
        self.assertEqual(self.client("ls", server.url("many")).code, DONE)

    def test_a_server_hears_of_clients_again_once_it_has_memory(self):
        gone = os.path.join(self.scratch, "gone")
        server = self.without_memory(gone, 1024, "NO_MEMORY_IN_FIRST=yes")
        session = Session(self, server)
        code, lines = session.ask(f"XFER direction=put;{TERMS}nonce={'00' * 16}; /in")
        self.assertEqual(code, 150, lines)
        self.file_with(gone, b"")
        with socket.create_connection((server.host, server.port)) as refused:
            self.assertEqual(refused.recv(1), b"")
        wait_for(lambda: "cannot accept connections: Cannot allocate memory" in server.stderr, "the reason")
        self.assertEqual(session.ask("NOOP " + 2000 * "x"), (0, []))
        wait_for(lambda: "cut: the client's session ended" in server.stderr, "the end of what the session began")
        wait_for(lambda: "ended: Cannot allocate memory" in server.stderr, "why, in the log")
        os.unlink(gone)
        self.assert_serving(server)

    def test_more_files_than_a_receiver_may_open_wait(self):
        need_program("prlimit")
        server = self.server()
        self.many(os.path.join(server.root, "many"), 500)
        few = ("prlimit", "--nofile=512:512")
        self.transfer("get", server.url("many"), self.folder("got"), files=500, launcher=few)

    def test_more_directories_than_a_receiver_may_open_wait(self):
        need_program("prlimit")
        server = self.server()
        for number in range(700):
            self.file_with(os.path.join(self.folder(f"root/many/{number}/of/it"), "file"), b"x")
        few = ("prlimit", "--nofile=160:160")
        self.transfer("get", server.url("many/"), self.folder("got"), files=700, launcher=few)

    def test_more_files_than_a_sender_may_open_wait(self):
        need_program("prlimit")
        server = self.server()
        tree = self.many(self.folder("many"), 500)
        self.transfer("put", tree, server.url("got"), files=500, launcher=("prlimit", "--nofile=128:128"))

    def test_a_directory_that_becomes_a_link_is_not_followed(self):
        server = self.server()
        tree = self.many(self.folder("tree"), 700)
        for place in ("tree/z", "secret"):
            self.file_with(os.path.join(self.folder(place), "f"), place.encode())
        put = self.start("put", "--rate-limit", "60Mbit/s", tree, server.url("to/"))
        time.sleep(1.5)
        os.rename(os.path.join(tree, "z"), os.path.join(tree, "zz"))
        os.symlink("../secret", os.path.join(tree, "z"))
        self.assertEqual(put.wait(), FILE_FAILED, put.stderr)
        self.assertIn("a link took its place", put.stdout + put.stderr)
        self.assertFalse(os.path.exists(server.path("to/tree/z/f")))
