"""Measurements of others as they were printed, errors included; hosts are renamed.

The first lines of a file say where it is from, under which license, on which hardware, and what is
odd about it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.core.measurements.file_reader import Report, read_files

_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^# (source|license|hardware|nodes|note): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMeasurement:
    """A file of others, and what is read in it."""

    name: str
    source: str
    license: str
    hardware: str
    note: str
    report: Report

    @property
    def address(self) -> str:
        """Where it was published."""
        return self.source.partition(" ")[0]


@cache
def published_tests() -> Mapping[str, PublishedMeasurement]:
    """The tables of nccl-tests and rccl-tests, by name."""
    return {path.stem: _read_published(path) for path in sorted(_FOLDER.glob("nccl/*.txt"))}


@cache
def published_logs() -> Mapping[str, PublishedMeasurement]:
    """The training logs, by name."""
    return {path.stem: _read_published(path) for path in sorted(_FOLDER.glob("logs/*.log"))}


def text_of(name: str) -> str:
    """The file of the measurement called *name*, as it can be pasted.

    Raises:
        KeyError: no measurement is called so.
    """
    folder, ending = ("nccl", "txt") if name in published_tests() else ("logs", "log")
    if name not in {**published_tests(), **published_logs()}:
        raise KeyError(name)
    return (_FOLDER / folder / f"{name}.{ending}").read_text(encoding="utf-8")


def _read_published(path: Path) -> PublishedMeasurement:
    head = dict(_HEAD.findall(path.read_text(encoding="utf-8")))
    (report,) = read_files([path])
    return PublishedMeasurement(
        name=path.stem,
        source=head["source"],
        license=head["license"],
        hardware=head["hardware"],
        note=head.get("note", ""),
        report=report,
    )
