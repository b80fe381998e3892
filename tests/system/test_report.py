"""--report: the pages of lambda-sim and lambda-lab in a real browser, in light and in dark."""

import json
import os
import re

from harness import DONE, Process, Settings, need, need_isolation, patience
from labs import UNABLE, peer
from pages import SCHEMES, PageCase

SIM_FAILED, SIM_USAGE = 1, 2


class Page(PageCase):
    def tool(self, name, *arguments, code=DONE):
        program = os.path.join(Settings.tools_dir, name)
        need(os.path.exists(program), f"{name} was not built")
        process = Process([program, *arguments], env=self.environment)
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(patience(60)), code, process.stdout[-2000:] + process.stderr[-3000:])
        return process

    def lab(self, *options, main, code=DONE):
        """Some seconds of two flows into a narrow path; main: what the shell does after it."""
        shower = peer("shower", "$LAB_HOST_server", 2500, 972, 0.001)[5:]
        need_isolation()
        need(os.path.exists("/dev/net/tun"), "no /dev/net/tun")
        return self.tool("lambda-lab", "run", *options, "--seed", str(self.seed), "--rate", "5Mbit/s", "--queue", "20kB",
                         "--loss", "1%", "--logs", self.folder("logs"), "--on", "server", peer("gather", 1),
                         "--ready", "server", "ready", "--", "sh", "-c",
                         f"{shower} & {shower}; wait; {main}", code=code)

    def lines(self):
        """What the script draws: the values of each line by its name, for each chart by its title."""
        with open(self.page, encoding="utf-8") as file:
            data = re.search(r'<script id="data" type="application/json">(.*?)</script>', file.read(), re.DOTALL)
        charts = json.loads(data.group(1))["sections"][0]["charts"]
        return {chart["title"]: {line["name"]: line["values"] for line in chart["lines"]} for chart in charts}

    def test_flows_of_the_simulator(self):
        # Into a path of this name: </script><script>...
        self.folder("<")
        evil = os.path.join(self.scratch, "</script><script>document.title='broken'<b>&amp;.csv")
        self.tool("lambda-sim", "flows", "--capacity", "50Mbit/s", "--duration", "10s", "--loss", "1e-3",
                  "--flow", "law=sabul,rtt=20ms", "--flow", "law=cubic,rtt=40ms,start=2s", "--csv", evil,
                  "--report", self.page)
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                seen = self.look(scheme)
                self.check(seen, scheme)
                self.assertEqual(seen["title"], "A run of lambda-sim")
                self.assertIn("flows --capacity 50Mbit/s --duration 10s --loss 1e-3 --flow law=sabul,rtt=20ms",
                              seen["command"])
                self.assertIn("'" + evil.replace("'", "'\\''") + "'", seen["command"])
                self.assertIn("cubic", seen["cells"])
                charts = {chart["title"]: chart for chart in seen["charts"]}
                self.assertEqual(len(charts), 6)
                rate = charts["Rate of each flow"]
                self.assertEqual(rate["points"], 2 * 100)
                self.assertEqual(rate["legend"], ["1 sabul, 20.0 ms", "2 cubic, 40.0 ms"])
                self.assertEqual(charts["Utilisation of the bottleneck"]["points"], 100)
                # From the second second of the second flow's.
                self.assertEqual(charts["Fairness of the rates over 1 s"]["points"], 100 - 20 - 9)
                self.assertEqual(charts["Queue at the bottleneck"]["points"], 100)

    def test_a_named_scenario(self):
        scenario = os.path.join(self.scratch, "small.yaml")
        with open(scenario, "w") as file:
            file.write("title: Two <b>runs</b>\nsource: none\ncapacity: 20Mbit/s\nduration: 5s\n"
                       "flow:\n  - law=sabul,rtt=10ms,count=30\nruns: [clean loss=0, lossy loss=1e-2]\n"
                       "expect: [utilisation >= 2]\n")
        self.tool("lambda-sim", "run", scenario, "--seed", "9", "--report", self.page, code=SIM_FAILED)
        seen = self.look("light")
        self.check(seen, "light")
        self.assertEqual(seen["sections"], [f"{scenario}: Two <b>runs</b>", "clean", "lossy"])
        self.assertIn("FAILS", seen["cells"])
        self.assertEqual(seen["cells"].count("9"), 4 + 2)  # the findings, the runs, and two flows
        self.assertEqual(len(seen["charts"]), 12)
        self.assertEqual(seen["charts"][0]["title"], "Rate of each flow (24 of 30 lines)")
        self.assertEqual(len(seen["charts"][0]["legend"]), 24)

    def test_a_run_of_the_lab_that_failed(self):
        """The page tells of it even so."""
        evil = ": '</script><b>'; exit 7"
        self.lab("--report", self.page, main=evil, code=7)
        flows = self.check_lines()
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme):
                seen = self.look(scheme)
                self.assertEqual(seen["wrong"], [])
                charts = {chart["title"]: chart for chart in seen["charts"]}
                idle = charts.pop("Lost on the dead path")
                self.check({**seen, "charts": [chart for chart in charts.values()]}, scheme)
                self.assertGreater(idle["points"], 0)
                self.assertEqual(len(charts), 8)
                for title, legend in (("Rate of each flow", flows), ("Rate of each direction", ["forward", "backward"]),
                                      ("Fairness of the rates over 1 s", ["forward", "backward"]),
                                      ("Round trip of the path", ["client to server"])):
                    self.assertEqual(charts[title]["legend"], legend)
                    self.assertGreater(charts[title]["points"], 0)
                self.assertGreater(charts["Rate of each direction"]["points"], 2 * 20)
                for flow in flows:
                    self.assertIn(flow, seen["cells"])
                self.assertIn("7", seen["cells"])
                self.assertIn(str(self.seed), seen["cells"])
                self.assertIn("lambda-lab run --report", seen["command"])
                self.assertIn("</script><b>", seen["command"])

    def check_lines(self):
        """Of the lab's two flows and the queue that they fill; their names."""
        lines = self.lines()
        flows = lines["Rate of each flow"]
        self.assertEqual(len(flows), 2)
        for name in flows:
            self.assertRegex(name, r"^10\.77\.1\.1:[0-9]+ > 10\.77\.2\.1:7000 UDP$")
        for whole, *parts in zip(lines["Rate of each direction"]["forward"], *flows.values()):
            self.assertAlmostEqual(sum(parts), whole, delta=0.01)
        fairness = lines["Fairness of the rates over 1 s"]
        self.assertEqual(set(fairness["backward"]), {None})
        for index in filter(None, fairness["forward"]):
            self.assertTrue(0.5 <= index <= 1, index)
        # At 5 Mbit/s, and no other delay.
        queues = lines["Queue at the bottleneck, mean"]
        for forward, backward, trip in zip(queues["forward"], queues["backward"],
                                           lines["Round trip of the path"]["client to server"]):
            self.assertAlmostEqual(trip, (forward + backward) * 8 / 5, delta=0.01)
        return list(flows)

    def test_a_run_too_short_for_a_point(self):
        need_isolation()
        self.tool("lambda-lab", "run", "--report", self.page, "--", "true")
        seen = self.look("light")
        self.assertEqual(seen["wrong"], [])
        self.assertEqual([chart["points"] for chart in seen["charts"]], [0] * 9)

    # Files that cannot be

    def flows(self, report, code):
        return self.tool("lambda-sim", "flows", "--duration", "1s", "--flow", "law=fixed,rtt=1ms", "--report", report,
                         code=code)

    def test_a_simulator_that_cannot_write(self):
        missing = os.path.join(self.scratch, "missing", "out.html")
        for run in (self.flows(missing, SIM_FAILED),
                    self.tool("lambda-sim", "run", "r14", "--report", missing, code=SIM_FAILED)):
            self.assertEqual(run.stderr, f"lambda-sim: {missing}: cannot write the report: No such file or directory\n")
            self.assertEqual(run.stdout, "")  # said before the work
        full = self.flows("/dev/full", SIM_FAILED)
        self.assertIn("/dev/full: cannot write the report: No space left on device", full.stderr)
        self.flows("", SIM_USAGE)
        self.tool("lambda-sim", "flows", "--report", code=SIM_USAGE)

    def test_the_series_of_a_named_scenario(self):
        scenario = os.path.join(self.scratch, "small.yaml")
        with open(scenario, "w") as file:
            file.write("title: Small\nsource: none\nduration: 2s\nflow:\n  - law=fixed,rtt=1ms\n"
                       "expect: [utilisation <= 2]\n")
        table, missing = os.path.join(self.scratch, "table"), os.path.join(self.scratch, "missing", "table")
        several = self.tool("lambda-sim", "run", scenario, scenario, "--csv", table, code=SIM_USAGE)
        self.assertEqual(several.stderr, "lambda-sim: --csv takes one scenario\n")
        self.assertFalse(os.path.exists(table))
        nowhere = self.tool("lambda-sim", "run", scenario, "--csv", missing, code=SIM_FAILED)
        self.assertEqual((nowhere.stdout, nowhere.stderr), ("", f"lambda-sim: cannot write {missing}\n"))
        full = self.tool("lambda-sim", "run", scenario, "--csv", "/dev/full", code=SIM_FAILED)
        self.assertIn("utilisation <= 2", full.stdout)
        self.assertEqual(full.stderr, "lambda-sim: cannot write /dev/full\n")
        self.tool("lambda-sim", "run", scenario, "--csv", table)
        with open(table) as file:
            self.assertGreater(len(file.readlines()), 20)

    def test_of_two_outputs_none_takes_the_other_s_place(self):
        same = os.path.join(self.scratch, "same")
        flows = ("flows", "--duration", "1s", "--flow", "law=fixed,rtt=1ms")
        for words in (("lambda-sim", *flows, "--csv", same, "--report", same),
                      ("lambda-sim", "run", "r14", "--csv", same, "--report", same),
                      ("lambda-lab", "run", "--json", same, "--series", same, "--", "true"),
                      ("lambda-lab", "run", "--series", same, "--report", same, "--", "true")):
            with self.subTest(words):
                run = self.tool(*words, code=SIM_USAGE)  # the lab's, too
                one, other = (word for word in words if word in ("--csv", "--json", "--series", "--report"))
                self.assertIn(f"{words[0]}: {same}: {one} and {other} are one file", run.stderr)
                self.assertFalse(os.path.exists(same))

    def test_a_lab_that_cannot_write(self):
        need_isolation()
        need(os.path.exists("/dev/net/tun"), "no /dev/net/tun")
        mark = os.path.join(self.scratch, "ran")
        missing = os.path.join(self.scratch, "missing", "out.html")
        run = self.tool("lambda-lab", "run", "--report", missing, "--", "touch", mark, code=UNABLE)
        self.assertEqual(run.stderr, f"lambda-lab: {missing}: cannot write the report: No such file or directory\n")
        self.assertFalse(os.path.exists(mark), "it ran before it said so")
        for main, code in (("true", UNABLE), ("exit 7", 7)):
            run = self.tool("lambda-lab", "run", "--report", "/dev/full", "--", "sh", "-c", main, code=code)
            self.assertIn("/dev/full: cannot write the report: No space left on device", run.stderr)
            self.assertIn("forward: ", run.stderr)
