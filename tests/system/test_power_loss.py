"""The machine loses its power under a transfer: a file system on a loop device goes down without a
flush of its log, and is mounted again."""

import os
import shutil
import time

from harness import DONE, MIB, Case, Settings, wait_for
from disks import lose_power, small_ext4, small_xfs
from journals import durable_bytes


class PowerLoss(Case):
    SIZES = [6 * MIB + 77, 0, 700, 100_000, MIB, 3 * MIB]

    def times(self):
        return 50 if Settings.long else 1

    def losses(self, make):
        image = make(self)
        root = os.path.join(image.folder, "root")
        os.mkdir(root)
        os.sync()
        sources = [self.random_file(f"file {n}", size) for n, size in enumerate(self.SIZES)]
        names = [os.path.basename(source) for source in sources]
        for number in range(self.times()):
            target = f"into {number}/"
            server = self.server(root=root)
            client = self.start("put", "--rate-limit", "80Mbit/s", *sources, server.url(target))
            deadline = time.monotonic() + self.random.uniform(0.2, 1.6)
            while client.running() and time.monotonic() < deadline:
                time.sleep(0.002)
            said = client.wait() if not client.running() else None
            lose_power(image)
            client.kill()
            server.kill()
            image.unmount_once_free()
            image.mount()
            self.assert_nothing_wrong(server.path(target), sources, names, all_of_them=said == DONE)
            # Goes on.
            server = self.server(root=root, state=server.state)
            self.transfer("put", *sources, server.url(target), files=len(sources))
            self.assert_nothing_wrong(server.path(target), sources, names, all_of_them=True)
            self.assertEqual(server.parts(), [])
            server.kill()
            shutil.rmtree(server.path(target))
            os.sync()  # else the next loss brings it back, and the image fills up

    def assert_nothing_wrong(self, folder, sources, names, all_of_them):
        there = os.listdir(folder) if os.path.isdir(folder) else []
        for source, name in zip(sources, names):
            if name in there:
                self.assert_same(source, os.path.join(folder, name))
            else:
                self.assertFalse(all_of_them, f"{name} was called done and is not there")
        self.assertEqual([n for n in there if n not in names and not n.startswith(b".lambda-")], [])

    def attributes(self, folder, names):
        found = {}
        for name in names:
            status = os.stat(os.path.join(folder, name))
            found[name] = (status.st_mode, status.st_mtime_ns, os.getxattr(os.path.join(folder, name), "user.about"))
        return found

    def not_moved(self, make):
        """Files that a sync did not move, when it said that it was done: their attributes, and themselves."""
        image = make(self)
        server = self.server(root=image.folder)
        top = os.path.dirname(self.random_file("copied", 100_000))
        os.sync()
        shutil.copytree(top, server.path("copied"))  # as somebody who did not flush it would leave it
        result = self.client("sync", top, server.url("copied"))
        self.assertEqual((result.code, result.summary["adopted"]), (DONE, 1), str(result))
        server = self.after_power_loss(image, server)
        self.assert_same(os.path.join(top, b"copied"), server.path("copied/copied"))
        for count in (1, 20):  # flushed by itself, and together
            folder = f"mended {count}"
            names = [os.fsencode(f"file {n}") for n in range(count)]
            top = os.fsencode(self.folder(f"local/{folder}"))
            sources = [self.random_file(f"{folder}/{os.fsdecode(name)}", 1000) for name in names]
            for source in sources:
                os.setxattr(source, "user.about", b"before")
            self.transfer("sync", "--archive", top, server.url(folder), files=count)
            os.sync()
            for source in sources:
                os.setxattr(source, "user.about", b"after")
                os.chmod(source, 0o640)
            result = self.client("sync", "--archive", top, server.url(folder))
            self.assertEqual((result.code, result.summary["mended"]), (DONE, count), str(result))
            server = self.after_power_loss(image, server)
            self.assertEqual(self.attributes(server.path(folder), names), self.attributes(top, names))

    def after_power_loss(self, image, server):
        lose_power(image)
        server.kill()
        image.unmount_once_free()
        image.mount()
        return self.server(root=image.folder, state=server.state)

    def test_ext4_of_what_did_not_move(self):
        self.not_moved(lambda case: small_ext4(case, 128 * MIB))

    def test_xfs_of_what_did_not_move(self):
        self.not_moved(small_xfs)

    def kept(self, make):
        image = make(self)
        server = self.server(root=image.folder)
        source = self.random_file("long", 48 * MIB)
        client = self.start("put", "--rate-limit", "80Mbit/s", source, server.url("long"))
        wait_for(lambda: durable_bytes(image.folder) >= 32 * MIB, "32 MiB that are durable", alive=client.running)
        lose_power(image)
        client.kill()
        server.kill()
        image.unmount_once_free()
        image.mount()
        server = self.server(root=image.folder, state=server.state)
        result = self.transfer("put", source, server.url("long"))
        self.assert_same(source, server.path("long"))
        self.assertGreater(result.summary["bytes_kept"], 8 * MIB)  # but for what a second moved, and its flush
        self.assertEqual(server.parts(), [])

    def test_ext4_keeps_what_was_durable(self):
        self.kept(lambda case: small_ext4(case, 128 * MIB))

    def test_xfs_keeps_what_was_durable(self):
        self.kept(small_xfs)

    def test_ext4(self):
        self.losses(lambda case: small_ext4(case, 128 * MIB))

    def test_xfs(self):
        self.losses(small_xfs)
