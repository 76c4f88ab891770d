"""Measurements of others as they were printed, errors included; hosts are renamed.

The first lines of a file say where it is from, under which license, on which hardware, and what is odd about it.
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


_TRACES = _FOLDER / "traces"
_HTA = "https://github.com/facebookresearch/HolisticTraceAnalysis/tree/f4d0062c/tests/data/"
_TRACELENS = "https://github.com/AMD-AGI/TraceLens/tree/171dd747/tests/traces/"


@dataclass(frozen=True, slots=True)
class ExpectedTimes:
    """What HolisticTraceAnalysis 0.5 finds in the file, without rounding its times.

    Percent of the wall; *hidden* is the percent of communication, None without any.
    """

    compute: float
    idle: float
    other: float
    hidden: float | None


@dataclass(frozen=True, slots=True)
class TraceSample:
    """A published trace: its license is MIT."""

    name: str
    title: str
    address: str
    expected: ExpectedTimes

    @property
    def path(self) -> Path:
        """The file."""
        return _TRACES / f"{self.name}.json.gz"


SAMPLES = (
    TraceSample(
        "a100-8-rank3-five-steps",
        "Rank 3 of eight A100, a recommender, five steps",
        f"{_HTA}trace_diff/control",
        ExpectedTimes(61.230, 16.202, 22.568, 47.03),
    ),
    TraceSample(
        "mi300x-8-resnet-rccl",
        "ResNet on one of eight MI300X, with RCCL",
        f"{_TRACELENS}mi300/resnet_act_checkpoint",
        ExpectedTimes(33.688, 0.461, 65.852, 24.97),
    ),
    TraceSample(
        "a100-2-ddp-with-bytes",
        "DDP on two A100, with the bytes of each collective",
        f"{_HTA}nccl_parser_config",
        ExpectedTimes(17.663, 77.234, 5.104, 14.76),
    ),
    TraceSample(
        "a100-16-rank0-four-steps",
        "Rank 0 of sixteen A100, four steps",
        f"{_HTA}negative_queue_length_values_check",
        ExpectedTimes(14.149, 69.436, 16.415, 1.37),
    ),
    TraceSample(
        "b200-8-vllm-eager",
        "vLLM on one of eight B200, without CUDA graphs",
        f"{_TRACELENS}b200",
        ExpectedTimes(12.749, 86.274, 0.976, 0.0),
    ),
    TraceSample(
        "world128-rank0-sampled",
        "Rank 0 of 128, a sample of its events",
        f"{_HTA}trace_filter",
        ExpectedTimes(17.707, 53.558, 28.735, 11.81),
    ),
    TraceSample(
        "world128-rank1-sampled",
        "Rank 1 of 128, a sample of its events",
        f"{_HTA}trace_filter",
        ExpectedTimes(22.566, 54.717, 22.717, 20.05),
    ),
    TraceSample(
        "a100-1-alexnet-with-cuda-sync",
        "AlexNet on one A100, the first calls included",
        f"{_HTA}critical_path/alexnet",
        ExpectedTimes(0.082, 99.490, 0.429, None),
    ),
)
