"""The digests of `lambda-ftp checksum`, by other means."""

import hashlib
import zlib

from harness import MIB


def tree_digest(content):
    """sha256-tree-1MiB, as docs/integrity.md defines it."""
    leaves = [hashlib.sha256(content[at:at + MIB]).digest() for at in range(0, len(content), MIB)]
    return hashlib.sha256(len(content).to_bytes(8, "big") + b"".join(leaves)).hexdigest()


DIGESTS = {"sha256-tree-1MiB": tree_digest,
           "md5": lambda content: hashlib.md5(content).hexdigest(),
           "sha256": lambda content: hashlib.sha256(content).hexdigest(),
           "adler32": lambda content: f"{zlib.adler32(content):08x}"}
