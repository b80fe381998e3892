"""The tools of who works on the sources, each in a tree of its own, where it finds nothing but what it is given."""

import os
import shutil
import subprocess

from harness import Case

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools")
USAGE = 2


class Tools(Case):
    def write(self, path, text, mode=0o644):
        path = os.path.join(self.scratch, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(text)

    def run_tool(self, name, *words, path=""):
        os.makedirs(os.path.join(self.scratch, "tools"), exist_ok=True)
        tool = shutil.copy(os.path.join(TOOLS, name), os.path.join(self.scratch, "tools"))
        return subprocess.run([tool, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=dict(os.environ, PATH=os.pathsep.join(filter(None, [path, os.environ["PATH"]]))))

    def test_fuzzing_ends(self):
        for words in ((), ("0",), ("00",), ("-1",), ("much",)):
            fuzz = self.run_tool("fuzz", *words)
            self.assertEqual((fuzz.returncode, fuzz.stderr[:6]), (USAGE, "usage:"), words)

    def test_packages_of_a_bench(self):
        """All that makes the product fast; and no peer that can't be had keeps the others away."""
        for name, script in (("dpkg-query", "exit 1"), ("uname", "echo x86_64"), ("id", "echo 0"),
                             ("apt-get", 'echo "$@" >>"$0.log"; case "$*" in *rclone*) exit 100 ;; esac')):
            self.write(f"programs/{name}", f"#!/bin/sh\n{script}\n", 0o755)
        packages = self.run_tool("packages", "bench", path=os.path.join(self.scratch, "programs"))
        self.assertEqual(packages.returncode, 0, packages.stderr)
        self.assertIn("rclone: SKIPPED", packages.stderr)
        with open(os.path.join(self.scratch, "programs", "apt-get.log")) as file:
            asked = file.read().split()
        for name in ("cmake", "libipsec-mb-dev", "valgrind"):
            self.assertIn(name, asked)

    def test_an_arrow_against_the_links(self):
        """Every room is one that a CMakeLists.txt makes."""
        self.write("common/low/CMakeLists.txt", "lambda_room(low)\n")
        self.write("common/high/CMakeLists.txt", "lambda_room(high lambda_low)\n")
        self.write("common/high/deep/good.h", '#include "common/low/wrong.h"\n')
        self.write("common/low/wrong.h", '#include "common/high/deep/good.h"\n')
        lint = self.run_tool("lint", "--quick")
        self.assertEqual(lint.returncode, 1)
        self.assertIn("common/low/wrong.h:1: low may not include common/high/deep/good.h\narrows: FAILED", lint.stdout)
