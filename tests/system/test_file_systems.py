"""File systems that are not like those of disks: what stands there stands still."""

import os

from disks import Image, bound
from syncs import SyncCase


class FileSystems(SyncCase):
    def test_a_program_that_is_a_file_system_keeps_times(self):
        """libfuse's older interface takes a time for a file only together with that of its last access."""
        source, front = self.small_tree(), self.folder("front")
        for inner in ("a", "sub/c", "sub/deep", "sub"):
            os.utime(os.path.join(source, inner), ns=(1, 981_158_400_000_000_000))
        bound(self, self.folder("behind"), front)
        server = self.server(root=front, state=self.folder("another"))
        there, here = os.path.join(front, "to"), os.path.join(front, "got")
        for of, target, local in ((source, server.url("to"), there), (server.url("to") + "/", here, here)):
            with self.subTest(target):
                os.makedirs(os.path.join(local, "extraneous"), exist_ok=True)
                self.sync("--delete", of, target)
                self.assertEqual(self.differences(source, local), b"")
                again = self.sync("--delete", of, target)
                self.assertEqual(self.changes(again), [])

    def test_what_is_never_written_to_needs_no_flush(self):
        source = self.small_tree()
        image = Image(self, ["mksquashfs", source], 0)
        server = self.server(root=image.folder, state=self.folder("another"))
        self.assertEqual(self.changes(self.sync(source, server.url())), [])
