"""Links: the bandwidth and latency of one GPU to others."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.core.formulas.checks import at_least, positive
from app.core.formulas.records import Record
from app.core.translation import noted
from app.core.units import BytesPerSecond, Ratio, Seconds

_GIGA, _MICRO = 1e9, 1e-6


@dataclass(frozen=True, kw_only=True)
class Link(Record):
    """A link of one GPU.

    *bandwidth* is one direction of the link; *effective* is what NCCL has been measured to reach, 0
    if unpublished; *latency* is that of one step, 0 if unpublished. A collective takes *start* once
    more, and n ranks reach n / (n + *ramp*) of what large groups have *approached*, or of what is
    effective if that is 0.
    """

    what: ClassVar[str] = noted("link")
    unpublished: ClassVar[frozenset[str]] = frozenset({"effective", "latency"})

    name: str
    bandwidth: BytesPerSecond
    effective: BytesPerSecond = 0.0
    latency: Seconds = 0.0
    start: Seconds = 0.0
    ramp: Ratio = 0.0
    approached: BytesPerSecond = 0.0
    source: str

    def __post_init__(self) -> None:
        positive("bandwidth", self.bandwidth)
        at_least("effective", self.effective, 0)
        for name in ("latency", "start", "ramp", "approached"):
            at_least(name, getattr(self, name), 0)

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return LINKS  # type: ignore[return-value]


_TUNER = "NCCL, src/graph/tuning.cc (latency of a ring's step, protocol Simple)"
_AS_BEFORE = "start and ramp: taken over from NVLink 3"
_LINKS = (
    Link(
        name="NVLink 2", bandwidth=150 * _GIGA, latency=3.4 * _MICRO,
        source=f"V100 datasheet: 300 GB/s both ways added; {_TUNER}",
    ),
    Link(
        name="NVLink 3", bandwidth=300 * _GIGA, effective=230 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4, approached=235 * _GIGA,
        source=f"A100 datasheet: 600 GB/s both ways added; nccl-tests issue 149; {_TUNER}; start,"
        " ramp and what is approached: vTrain's table of all-reduces over 2, 4 and 8 GPUs"
        " (arXiv:2312.12391), read off",
    ),
    Link(
        name="NVLink 4", bandwidth=450 * _GIGA, effective=370 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4,
        source=f"H100 datasheet: 900 GB/s both ways added; nccl-tests issue 212; {_TUNER};"
        f" {_AS_BEFORE}",
    ),
    Link(
        name="NVLink 4, H800", bandwidth=200 * _GIGA, effective=160 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4,
        source=f"DeepSeek-V3 report, section 3.2.2 (160 effective); {_TUNER}; {_AS_BEFORE}",
    ),
    Link(
        name="NVLink 5", bandwidth=900 * _GIGA, latency=3.4 * _MICRO,
        start=40 * _MICRO, ramp=0.4,
        source=f"B200 datasheet: 1.8 TB/s both ways added; {_TUNER}; {_AS_BEFORE}",
    ),
    Link(
        name="400 Gbit/s network", bandwidth=50 * _GIGA, latency=14 * _MICRO,
        source=f"one NIC per GPU, InfiniBand NDR or RoCE; {_TUNER}",
    ),
    Link(
        name="200 Gbit/s network", bandwidth=25 * _GIGA, latency=14 * _MICRO,
        source=f"one NIC per GPU, InfiniBand HDR; {_TUNER}",
    ),
    Link(
        name="Cross-pod 1:7", bandwidth=50 * _GIGA / 7, latency=14 * _MICRO,
        source="Llama 3 report, arXiv:2407.21783, section 3.3.1: a 400 Gbit/s NIC at 1:7, at worst",
    ),
    Link(
        name="TPU v5p ICI", bandwidth=600 * _GIGA,
        source="Cloud TPU v5p documentation: 1,200 GB/s per chip, both ways added",
    ),
)  # fmt: skip

LINKS: Mapping[str, Link] = MappingProxyType({known.name: known for known in _LINKS})
