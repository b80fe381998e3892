"""What of a cut transfer is durable, by the journals of its partial files."""

import glob
import os
import struct

from harness import wait_for

SLOT = 512 << 10  # of a journal


def journals_below(folder):
    return glob.glob(os.path.join(os.fsdecode(folder), "**", ".lambda-*.journal"), recursive=True)


def durable(journal):
    """The ranges that a journal names (common/transfer/journal.h); its checksum is not looked at."""
    with open(journal, "rb") as file:
        content = file.read()
    newest, ranges = -1, []
    for at in range(0, len(content), SLOT):
        fixed = content[at:at + 52]
        if len(fixed) < 52 or fixed[:8] != b"lambdaJ1":
            continue
        sequence, = struct.unpack(">Q", fixed[8:16])
        count, = struct.unpack(">I", fixed[48:52])
        if sequence > newest:
            newest = sequence
            ranges = [struct.unpack(">QQ", content[at + 52 + 16 * i:at + 68 + 16 * i]) for i in range(count)]
    return ranges


def durable_bytes(folder):
    return sum(last - first for journal in journals_below(folder) for first, last in durable(journal))


def until_durable(folder, process, at_least):
    wait_for(lambda: durable_bytes(folder) >= at_least, f"{at_least} durable bytes", alive=process.running)
