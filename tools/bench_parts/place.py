"""Where the programs lie and where a bench works."""

import os
import shutil
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "bin")


def add_options(parser):
    parser.add_argument("--bin", default=BIN, metavar="DIR", help="our programs; default: build/bin")
    parser.add_argument("--folder", metavar="DIR", help="where files are made, on a real disk; default: $TMPDIR, "
                        "or else beside the programs")


class Folder:
    """A temporary folder on the disk, for sources, targets and what servers keep."""

    def __init__(self, arguments):
        within = arguments.folder or os.environ.get("TMPDIR") or os.path.dirname(os.path.abspath(arguments.bin))
        if not os.path.isdir(within):
            raise SystemExit(f"bench: {within}: no such folder; make it, or name another by --folder")
        self.path = tempfile.mkdtemp(prefix="bench-", dir=within)
        os.chmod(self.path, 0o755)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def own(name, arguments):
    """What is measured: of --bin alone."""
    path = os.path.abspath(os.path.join(arguments.bin, name))
    if not os.access(path, os.X_OK):
        raise SystemExit(f"bench: there is no {path}: build it, or name another folder by --bin")
    return path


def program(name, arguments):
    """One of ours, or one of the system's; None: there is none."""
    own = os.path.abspath(os.path.join(arguments.bin, name))
    if os.access(own, os.X_OK):
        return own
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def make_random(path, size):
    with open(path, "wb") as file:
        while size > 0:
            piece = os.urandom(min(size, 16 << 20))
            file.write(piece)
            size -= len(piece)
    return path
