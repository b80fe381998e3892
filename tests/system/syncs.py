"""What tests of sync share."""

import os
import subprocess

from harness import DONE, Case, need_program


class SyncCase(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()

    def sync(self, *arguments, code=DONE):
        result = self.client("sync", *arguments)
        self.assertEqual(result.code, code, str(result))
        return result

    @staticmethod
    def changes(result):
        return [(event["change"], event["path"]) for event in result.events if event["event"] == "change"]

    def differences(self, one, other, *options):
        return subprocess.run([need_program("rsync"), "-anHi", *options, "--checksum", "--delete",
                               os.path.join(one, ""), os.path.join(other, "")],
                              capture_output=True, check=True).stdout

    def small_tree(self, name="tree"):
        for inner, size in (("a", 10), ("b", 70_000), ("sub/c", 2_000_000), ("sub/d", 0), ("sub/deep/e", 5)):
            os.makedirs(os.path.dirname(os.path.join(self.folder(name), inner)), exist_ok=True)
            self.random_file(inner, size, name)
        return self.folder(name)
