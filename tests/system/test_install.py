"""`cmake --install`: what is installed stands and runs."""

import os
import re
import subprocess

from harness import Case, Settings, need


class Install(Case):
    def test_into_a_place_of_its_own(self):
        build = os.path.dirname(os.path.realpath(Settings.bin_dir))
        need(os.path.exists(os.path.join(build, "cmake_install.cmake")), "these programs lie in no build folder")
        place = self.folder("place")
        installed = subprocess.run(["cmake", "--install", build, "--prefix", place], capture_output=True, text=True)
        self.assertEqual(installed.returncode, 0, installed.stderr)
        for program in ("lambda-ftp", "lambda-ftpd"):
            told = subprocess.run([f"{place}/bin/{program}", "--version"], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(program, told.stdout)
        with open(f"{place}/share/doc/lambda-ftp/README.md") as file:
            for linked in re.findall(r"\]\((docs/[\w./]+)\)", file.read()):
                self.assertTrue(os.path.exists(f"{place}/share/doc/lambda-ftp/{linked}"), linked)
        unit = f"{place}/lib/systemd/system/lambda-ftpd.service"
        with open(unit) as file:
            self.assertRegex(file.read(), r"(?m)^ExecStart=/\S+/bin/lambda-ftpd ")
        completed = subprocess.run(
            ["bash", "-c", f"PATH={place}/bin:$PATH; . {place}/share/bash-completion/completions/lambda-ftp; "
             "complete -p lambda-ftp"], capture_output=True, text=True)
        self.assertEqual(completed.returncode, 0, completed.stderr)
