"""One transfer over loopback by different numbers of stripes: no number may cost much."""

import functools

from bench_parts.measured import Mover, figures, load, memory_folder, print_figures
from bench_parts.rounds import in_turn


def stripe_counts(arguments, verdicts):
    with memory_folder() as folder, \
            Mover(arguments, folder, arguments.size) as mover:
        print(f"{arguments.size / 1e9:.3f} GB from memory to nothing over loopback, private, {arguments.rounds} rounds, "
              f"{load()}")
        ways = {(verb, count): functools.partial(getattr(mover, verb), "--stripes", str(count))
                for verb in ("put", "get") for count in arguments.counts}
        for count in arguments.counts:
            mover.check_identity("--stripes", str(count))  # and warms up
        runs = in_turn("stripes", ways, arguments.rounds, verdicts)
    found = {case: figures(done) for case, done in runs.items()}
    print_figures("stripes", {f"{verb} {count}": one for (verb, count), one in found.items()})
    for (verb, count), one in found.items():
        verdicts.note(f"count: {verb} {count}", size=arguments.size, **one)
    for verb in ("put", "get"):
        rates = {count: found[verb, count]["gbit_per_s"] for count in arguments.counts if (verb, count) in found}
        if not rates:
            continue
        slowest, fastest = min(rates, key=rates.get), max(rates, key=rates.get)
        verdicts.add(f"{verb}: the slowest number of stripes by the fastest", rates[slowest] / rates[fastest],
                     least=0.85, slowest=slowest, fastest=fastest)
