"""A file that was changed in its structure says what it said before, or has a doubt, or is refused.

`python -m pytest tests/measurements/test_mutations.py -m sweep` reads 10,000 of them.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from app.core.measurements.file_reader import Report, read_files
from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.runs import LogRun
from app.core.measurements.reports import CollectiveTest, TrainingLog, UnreadFile
from tests.measurements.mutations import mutated, samples

QUICK, ALL = 500, 10_000
_NAMES = ("step_time", "tokens_per_second_per_gpu", "flops_per_gpu", "mfu")
_NEAR = 0.02  # of the numbers of single steps, of which a part has another median
Range = tuple[float, float]


@cache
def untouched(name: str, folder: Path) -> tuple[Report, ...]:
    path = folder / "untouched"
    path.write_text(samples()[name])
    return tuple(read_files([path]))


@cache
def ranges(name: str, folder: Path) -> dict[str, list[float]]:
    """Of each number of a log, what the log says of single steps and of all of them."""
    found: dict[str, list[float]] = {}
    log = LogReader()
    for line in samples()[name].splitlines():
        log.take(line)
    log.take("")
    for run in log.finish():
        for key, value in single_values(run):
            found.setdefault(key, []).append(value)
    for report in untouched(name, folder):
        for key in _NAMES:
            if (said := getattr(report, key, None)) is not None:
                found.setdefault(key, []).append(said)
    times, tokens = found.get("step_time"), found.get("tokens_per_second_per_gpu")
    if times and tokens:  # that are computed from the time
        found["tokens_per_second_per_gpu"] = [
            *tokens,
            min(tokens) * min(times) / max(times),
            max(tokens) * max(times) / min(times),
        ]
    return found


def single_values(run: LogRun) -> Iterator[tuple[str, float]]:
    """What the steps of a run say, and the times between their lines."""
    steps = [step for count in run.counts.values() for step in count.steps.values()]
    for step in (*steps, *run.unnumbered):
        yield from step.values.items()
    for count in run.counts.values():
        timed = [(step.number, step.at) for step in count.steps.values() if step.at is not None]
        for (n, at), (m, then) in zip(timed, timed[1:], strict=False):
            yield "step_time", (then - at) / max(m - n, 1)


def same_log(log: TrainingLog, names: Iterable[str], folder: Path) -> str:
    """What of *log* no sample says; empty if all of it is said."""
    for key in _NAMES:
        value = getattr(log, key)
        if value is None:
            continue
        known = [ranges(name, folder).get(key, []) for name in names]
        if not any(one and min(one) * (1 - _NEAR) <= value <= max(one) * (1 + _NEAR) for one in known):
            return f"{key} is {value}, of {known}"
    return ""


def same_test(test: CollectiveTest, names: Iterable[str], folder: Path) -> str:
    """What of *test* no sample says; empty if all of it is said."""
    tests = [one for name in names for one in untouched(name, folder) if isinstance(one, CollectiveTest)]
    for one in tests:
        rows = {(row.size, row.time, row.algbw) for row in one.rows}
        whole = all((row.size, row.time, row.algbw) in rows for row in test.rows)
        if whole and test.ranks in {None, one.ranks}:
            return ""
    return f"{test.collective}, {test.ranks}, {test.rows} is none of the samples'"


def wrong_in(reports: Sequence[Report], names: Sequence[str], folder: Path) -> Iterable[str]:
    for report in reports:
        if isinstance(report, UnreadFile) or report.doubts:
            continue
        if isinstance(report, TrainingLog):
            yield same_log(report, names, folder)
        elif isinstance(report, CollectiveTest):
            yield same_test(report, names, folder)


def check(seeds: Iterable[int], folder: Path) -> None:
    failures = []
    for seed in seeds:
        names, how, text = mutated(random.Random(seed))
        path = folder / "changed"
        path.write_text(text or "\n")
        found = [says for says in wrong_in(read_files([path]), names, folder) if says]
        failures += [f"{seed}: {how} of {names}: {says[:300]}" for says in found]
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:20])


def test_some_changed_files_say_the_same_or_doubt_it_or_are_refused(tmp_path: Path) -> None:
    check(range(QUICK), tmp_path)


@pytest.mark.sweep
def test_10_000_changed_files_say_the_same_or_doubt_it_or_are_refused(tmp_path: Path) -> None:
    check(range(ALL), tmp_path)
