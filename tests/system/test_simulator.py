"""lambda-sim flows for programs: its last line, its series, and that a seed repeats both to the byte."""

import json
import os

from harness import DONE, Case, Process, Settings, need, patience

FLOWS = ("law=sabul,rtt=20ms", "law=sabul2003,rtt=40ms,initial=20Mbit/s")


class Repeated(Case):
    def flows(self, seed, name):
        """Standard output and the series of a run that loses at random, as bytes."""
        program = os.path.join(Settings.tools_dir, "lambda-sim")
        need(os.path.exists(program), "lambda-sim was not built")
        series = os.path.join(self.scratch, name)
        process = Process([program, "flows", "--capacity", "100Mbit/s", "--duration", "5s", "--loss", "1e-3",
                           "--seed", str(seed), *(word for flow in FLOWS for word in ("--flow", flow)), "--json",
                           "--csv", series], env=self.environment)
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(patience(60)), DONE, process.stderr[-3000:])
        with open(series, "rb") as file:
            return process.stdout.encode(), file.read()

    def test_the_same_seed_gives_the_same_bytes(self):
        first, series = self.flows(7, "first")
        again, series_again = self.flows(7, "again")
        self.assertEqual(first, again)
        self.assertEqual(series, series_again)
        other, other_series = self.flows(8, "other")
        self.assertNotEqual(first, other)
        self.assertNotEqual(series, other_series)

    def test_the_last_line_is_an_object_with_the_measures(self):
        told, series = self.flows(7, "series")
        measures = json.loads(told.splitlines()[-1])
        self.assertLessEqual({"flows", "sum_mbit", "utilisation", "jain", "queue_mean_bytes", "correlation"},
                             measures.keys())
        self.assertEqual([flow["law"] for flow in measures["flows"]], ["sabul", "sabul2003"])
        for flow in measures["flows"]:
            self.assertLessEqual({"law", "mean_mbit", "cov", "lost_packets"}, flow.keys())
            self.assertGreater(flow["mean_mbit"], 0)
            self.assertGreater(flow["lost_packets"], 0)
        self.assertAlmostEqual(sum(flow["mean_mbit"] for flow in measures["flows"]), measures["sum_mbit"], places=2)
        self.assertAlmostEqual(measures["sum_mbit"] / 96, measures["utilisation"], places=3)
        rows = series.decode().splitlines()
        self.assertEqual(rows[0], "seconds,queue_ms,mbit_1,sent_mbit_1,rtt_ms_1,mbit_2,sent_mbit_2,rtt_ms_2")
        self.assertEqual(len(rows), 1 + 50)  # of 100 ms
        # The last line is of the second half.
        second_half = [float(row.split(",")[2]) for row in rows[26:]]
        self.assertAlmostEqual(sum(second_half) / 25, measures["flows"][0]["mean_mbit"], places=2)
