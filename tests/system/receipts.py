"""What tests of receipts share."""

import json
import os

from harness import DONE, MIB, Case


def read(path):
    with open(path, "rb") as file:
        return file.read()


class ReceiptCase(Case):
    def setUp(self):
        super().setUp()
        self.daemon = self.server()
        self.receipt = os.path.join(self.scratch, "receipt.json")

    def tree(self, name="tree", folder="local"):
        top = os.path.join(self.folder(folder), name)
        os.makedirs(os.path.join(top, "sub"))
        for path, size in (("empty", 0), ("small", 1000), ("sub/large", 3 * MIB + 5), ("sub/odd \xff\"\t\udcff", 70_000)):
            self.random_file(os.path.join(name, path), size, folder=folder)
        return top

    def lines(self, receipt=None):
        with open(receipt or self.receipt) as file:
            return [json.loads(line) for line in file]

    def files(self, receipt=None):
        return {line["path"]: line for line in self.lines(receipt) if "path" in line}

    def audit(self, *arguments, receipt=None, **how):
        return self.client("audit", receipt or self.receipt, *arguments, **how)

    def found(self, result):
        return next(event for event in result.events if event["event"] == "audit")

    def assert_good(self, result, files):
        self.assertEqual(result.code, DONE, str(result))
        self.assertEqual(self.found(result)["good"], files, str(result))
