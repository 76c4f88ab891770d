"""Training logs that a program writes as JSON: Hugging Face's Trainer, and LLaMA-Factory."""

import json
from collections.abc import Iterator, Mapping, Sequence

from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.summary import training_logs
from app.core.measurements.reports import TrainingLog

_TOTALS = ("train_runtime", "train_samples_per_second", "train_steps_per_second")
Entry = Mapping[str, object]


def logs_in(values: Sequence[Entry], trouble: str) -> list[TrainingLog]:
    """The logs in *values*: their entries are read as the lines that they would be."""
    log = LogReader()
    for value in values:
        for line in _lines(value):
            log.take(line)
    log.take("")
    return list(training_logs(log, trouble))


def _lines(value: Entry) -> Iterator[str]:
    """The entry as it is printed, and the entries within it."""
    history = value.get("log_history")
    if isinstance(history, list):
        total = value.get("max_steps", 0)
        for entry in history:
            if isinstance(entry, dict):
                yield from _entry(entry, total)
    else:
        yield from _entry(value, value.get("total_steps", 0))


def _entry(entry: Entry, total: object) -> Iterator[str]:
    if "train_steps_per_second" in entry:
        totals = {name: entry[name] for name in _TOTALS if name in entry}
        yield json.dumps({"train_runtime": 0, **totals, "epoch": 0})
    elif "loss" in entry and isinstance(number := entry.get("current_steps", entry.get("step")), int):
        yield json.dumps({"current_steps": number, "total_steps": total, **entry})
    elif "loss" in entry and "epoch" in entry:
        yield json.dumps({"loss": 0, **entry})
