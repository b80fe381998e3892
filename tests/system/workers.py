"""Test classes side by side, each worker a process with a network and mounts of its own."""

import io
import multiprocessing
from multiprocessing.connection import wait
import sys
import traceback
import unittest


class Outcome:
    """What a run of tests came to. `failed` has ids, once each, however many subtests failed."""

    def __init__(self, run=0, skipped=0, failed=()):
        self.run, self.skipped, self.failed = run, skipped, set(failed)

    def add(self, other):
        self.run += other.run
        self.skipped += other.skipped
        self.failed |= other.failed


def run_suite(tests, result_class, stream):
    result = unittest.TextTestRunner(stream=stream, verbosity=2, resultclass=result_class).run(unittest.TestSuite(tests))
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    return Outcome(result.testsRun, len(result.skipped), failed)


def all_failed(tests):
    return Outcome(run=len(tests), failed={test.id() for test in tests})


def by_class(tests):
    classes = {}
    for test in tests:
        classes.setdefault(type(test), []).append(test)
    return classes


def work(pipe, classes, prepare, result_class):
    """A worker's life: takes the number of a class, gives (text, outcome), until the pipe closes."""
    prepare()
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        text = io.StringIO()
        try:
            outcome = run_suite(classes[number], result_class, text)
        except Exception:  # an error of the tests' own frame must not end the worker unheard
            outcome = all_failed(classes[number])
            text.write(traceback.format_exc())
        pipe.send((text.getvalue(), outcome))


def run_side_by_side(tests, jobs, prepare, result_class):
    """Runs each class of `tests` in one of `jobs` workers, which call `prepare` first; those that have
    `alone = True` (their figures are of a machine that does nothing else) when all others are done."""
    classes = by_class(tests)
    waiting = [number for number, kind in enumerate(classes) if not getattr(kind, "alone", False)]
    alone = [number for number, kind in enumerate(classes) if getattr(kind, "alone", False)]
    groups = list(classes.values())

    context = multiprocessing.get_context("fork")
    pipes, busy, total = {}, {}, Outcome()
    for _ in range(jobs):
        ours, theirs = context.Pipe()
        # The ends of the others would keep this one alive when they should not.
        process = context.Process(target=lambda: ([pipe.close() for pipe in [*pipes, ours]],
                                                  work(theirs, groups, prepare, result_class)))
        process.start()
        theirs.close()
        pipes[ours] = process

    def give_out():
        for pipe in pipes:
            if pipe not in busy and waiting:
                busy[pipe] = waiting.pop(0)
                pipe.send(busy[pipe])
        if not busy and not waiting and alone and pipes:
            pipe = next(iter(pipes))
            busy[pipe] = alone.pop(0)
            pipe.send(busy[pipe])

    give_out()
    while busy:
        for pipe in wait(list(busy)):
            number = busy.pop(pipe)
            try:
                text, outcome = pipe.recv()
            except EOFError:
                pipes.pop(pipe).join()
                text, outcome = f"the worker of {groups[number][0].id()} died\n", all_failed(groups[number])
            sys.stderr.write(text)
            sys.stderr.flush()
            total.add(outcome)
        give_out()
    for number in waiting + alone:  # no worker was left for them
        total.add(all_failed(groups[number]))
    for pipe, process in pipes.items():
        pipe.close()
        process.join()
    return total
