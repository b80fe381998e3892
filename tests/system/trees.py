"""Trees with everything in them, and what stands in a tree."""

import os
import shutil
import stat
import subprocess


def nasty(root, archive):
    """A small tree with everything that a name or an entry can be."""
    def path(*parts):
        return os.path.join(os.fsencode(root), *parts)

    def write(at, content=b"x"):
        with open(at, "wb") as file:
            file.write(content)
        return at

    os.makedirs(path(b"empty/deeper"))
    os.makedirs(path(*[b"d%d" % level for level in range(40)]))
    for name in (b"new\nline", b"\xff\xfe not text", b" spaces  ", b"-rf", b"--", b"n" * 255, b"*?[a]", b"back\\slash",
                 b".hidden", "schön".encode()):
        write(path(name))
    write(path(b"zero"), b"")
    write(path(b"small"), os.urandom(65535))
    write(path(b"block"), os.urandom(65536))
    write(path(b"large"), os.urandom(3_000_001))
    os.symlink("no/where", path(b"dangling"))
    os.symlink("/etc/passwd", path(b"absolute"))
    os.symlink(b"\xff\n", path(b"odd link"))
    os.symlink("empty", path(b"to a directory"))
    os.link(path(b"small"), path(b"empty/small again"))
    os.link(path(b"large"), path(b"a large again"))
    with open(path(b"holes"), "wb") as file:
        file.truncate(9_000_000)
        file.seek(5_000_000)
        file.write(b"data")
    with open(path(b"small hole"), "wb") as file:
        file.truncate(9_000)
    for number, mode in enumerate((0o000, 0o400, 0o777, 0o1755) + ((0o4755, 0o2750, 0o6711) if archive else ())):
        os.chmod(write(path(b"mode %d" % number)), mode)
    os.makedirs(path(b"read only/inside"))
    write(path(b"read only/file"))
    os.utime(path(b"zero"), ns=(0, -1_234_567_890_123_456_789))
    os.utime(path(b"block"), ns=(0, 1_600_000_000_000_000_001))
    os.utime(path(b"dangling"), ns=(0, 999_999_999), follow_symlinks=False)
    os.utime(path(b"empty"), ns=(0, 77))
    if archive:
        os.chown(write(path(b"owned")), 12345, 54321)
        os.lchown(path(b"absolute"), 1, 2)
        os.setxattr(path(b"small"), "user.test", b"\x00value")
        os.setxattr(path(b"empty"), "user.folder", b"of")
        if shutil.which("setfacl"):
            subprocess.run(["setfacl", "-m", "u:1234:rw", path(b"owned")], check=True)
            subprocess.run(["setfacl", "-d", "-m", "g:99:rx", path(b"empty")], check=True)
    os.chmod(path(b"read only"), 0o555)


def outdated(source, target, rsync):
    """`target` becomes an older, other version of the tree `source`, in all the ways that there are."""
    subprocess.run([rsync, "-aHAX", source + "/", target + "/"], check=True)

    def path(name):
        return os.path.join(os.fsencode(target), name)

    for name in (b".hidden", b"schn", b"n" * 255, b"holes"):
        if os.path.lexists(path(name)):
            os.unlink(path(name))
    with open(path(b"block"), "r+b") as file:  # as large, not as old
        file.write(b"other")
    with open(path(b"large"), "r+b") as file:  # of another size; a further name of it too
        file.truncate(1_000_000)
    os.chmod(path(b"mode 1"), 0o711)
    os.utime(path(b"empty"), ns=(0, 5))
    os.unlink(path(b"dangling"))
    os.symlink("else/where", path(b"dangling"))
    os.unlink(path(b"zero"))
    os.makedirs(path(b"zero/was/a directory"))  # where a file comes
    with open(path(b"zero/was/file"), "wb") as file:
        file.write(b"z")
    shutil.rmtree(path(b"d0"))
    with open(path(b"d0"), "wb") as file:  # where a directory comes
        file.write(b"f")
    os.unlink(path(b"to a directory"))
    os.makedirs(path(b"to a directory/x"))  # where a link comes
    os.unlink(path(b"--"))
    os.symlink("/etc/passwd", path(b"--"))  # where a file comes
    os.makedirs(path(b"extra/deep/er"))
    for name in (b"extra/one", b"extra/deep/two", b"a new one", b"read only/stranger", b"\xfe"):
        with open(path(name), "wb") as file:
            file.write(b"gone soon")
    os.symlink("nowhere", path(b"extra/link"))


def snapshot(root):
    """Everything that a change of anything would change."""
    root = os.fsencode(root)
    seen = {}
    for where, folders, names in os.walk(root):
        for name in [b"."] + folders + names:
            path = os.path.join(where, name)
            s = os.lstat(path)
            seen[os.path.relpath(path, root)] = (s.st_ino, s.st_mode, s.st_nlink, s.st_uid, s.st_size, s.st_mtime_ns,
                                                 s.st_ctime_ns)
    return seen


def names_below(folder):
    """{name: inode} of the files that stand under their own names."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if not name.startswith(".lambda-"):
                found[os.path.relpath(path, folder)] = os.lstat(path).st_ino
    return found


def tree_of(folder):
    """All that replication keeps, by name."""
    tree = {}
    for where, directories, names in os.walk(folder):
        for name in [*directories, *names, "."] if where == folder else [*directories, *names]:
            path = os.path.normpath(os.path.join(where, name))
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = os.readlink(path) if stat.S_ISLNK(kind) else None
            if stat.S_ISREG(kind):
                with open(path, "rb") as file:
                    content = file.read()
            mode = None if stat.S_ISLNK(kind) else stat.S_IMODE(status.st_mode)
            tree[os.path.relpath(path, folder)] = (kind, mode, status.st_mtime_ns, content)
    return tree
