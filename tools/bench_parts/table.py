"""What the matrix' runs say: markdown tables, and where we miss what we set ourselves."""

import statistics

# Of the rate: what 1440 bytes of file in packets of 1500 leave.
PAYLOAD_MBIT = 960
BEHIND_BEST = 0.98
MARKS = {"T": "below the target", "B": "behind the best by more than 2 %", "A": "not ahead of BBR, from 100 ms on",
         "Q": "mean queue above the larger of half of bbr1's and 1 ms", "S": "the lab was strained in some run",
         "F": "a run failed"}


def target_mbit(rtt, loss):
    """What a transfer should reach on an else idle path of 1 Gbit/s."""
    if loss > 1e-2:
        share = 0.75
    elif rtt > 100:
        share = 0.85 if loss <= 1e-3 else 0.80
    else:
        share = 0.90 if loss <= 1e-3 else 0.85
    return share * PAYLOAD_MBIT


class Cell:
    """All runs of one path and verb."""

    def __init__(self, runs):
        self.runs = runs
        self.rtt, self.loss = runs[0]["rtt"], runs[0]["loss"]

    def median(self, peer, what):
        values = [run[what] for run in self.runs if run["peer"] == peer and not run.get("error")
                  and run.get(what) is not None]
        return statistics.median(values) if values else None

    def best_peer(self):
        found = {run["peer"]: self.median(run["peer"], "mbit") for run in self.runs if run["peer"] != "ours"}
        return max((value for value in found.values() if value is not None), default=None)

    def marks(self):
        ours, best = self.median("ours", "mbit"), self.best_peer()
        marks = ""
        if ours is not None:
            bbr = [value for value in (self.median(peer, "mbit") for peer in ("bbr1", "bbr8")) if value is not None]
            marks += "T" if ours < target_mbit(self.rtt, self.loss) else ""
            marks += "B" if best is not None and ours < BEHIND_BEST * best else ""
            marks += "A" if self.rtt >= 100 and bbr and ours <= max(bbr) else ""
            queue, bbr_queue = self.median("ours", "queue_ms"), self.median("bbr1", "queue_ms")
            marks += "Q" if bbr_queue is not None and queue > max(bbr_queue / 2, 1) else ""
        marks += "S" if any(run.get("strained") for run in self.runs) else ""
        marks += "F" if any(run.get("error") for run in self.runs) else ""
        return marks


def cells_of(records, verb):
    """By path, in the order of rtt, loss and queue."""
    runs = {}
    for record in records:
        if record["verb"] == verb:
            runs.setdefault((record["rtt"], record["loss"], record["queue"]), []).append(record)
    return {key: Cell(runs[key]) for key in sorted(runs)}


def shown(value, form):
    return "" if value is None else format(value, form)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def tables(records):
    """Goodput, then queue, set-up and loss, for each verb."""
    peers = list(dict.fromkeys(record["peer"] for record in records))
    texts = []
    for verb in dict.fromkeys(record["verb"] for record in records):
        cells = cells_of(records, verb)
        rates, queues = [], []
        for (rtt, loss, queue), cell in cells.items():
            place = [f"{rtt:g} ms", f"{loss:g}", queue]
            ours, best = cell.median("ours", "mbit"), cell.best_peer()
            rates.append(place + [shown(cell.median(peer, "mbit"), ".0f") for peer in peers]
                         + [shown(ours / best if ours is not None and best else None, ".2f"), cell.marks()])
            queues.append(place + [shown(cell.median(peer, "queue_ms"), ".2f") for peer in peers]
                          + [shown(cell.median("ours", "setup_s"), ".2f"), shown(cell.median("ours", "dropped"), ".0f"),
                             shown(cell.median("ours", "lost"), ".0f")])
        place = ["RTT", "loss", "queue"]
        texts += [f"Goodput of `{verb}`, Mbit/s:\n", table(place + peers + ["ours / best", ""], rates), "",
                  f"Mean queue of `{verb}`, ms; and of ours set-up time in s, packets dropped by the queue and lost:\n",
                  table(place + peers + ["set-up", "dropped", "lost"], queues), ""]
    last = {}
    for record in records:
        path = tuple(record[name] for name in ("rtt", "loss", "queue", "verb", "peer"))
        last[path] = max(record["round"], last.get(path, 0))
    least, most = min(last.values()), max(last.values())
    rounds = f"{most} round(s)" if least == most else f"{least} to {most} rounds"
    texts.append(f"Medians of {rounds}. " + "; ".join(f"{mark}: {what}" for mark, what in MARKS.items()) + ".")
    return "\n".join(texts)
