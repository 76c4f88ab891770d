"""Shares: what kernels and links reach of their peaks, and what is hidden or lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Self, get_args

from app.core.formulas.checks import at_least, one_of
from app.core.formulas.records import Record
from app.core.formulas.refusals import too_large
from app.core.translation import noted
from app.core.units import Ratio

Kernels = Literal["as usual", "unfused", "fused"]


@dataclass(frozen=True, kw_only=True)
class Shares(Record):
    """What a run reaches, as far as it is known.

    0 leaves the share to the GPU or the link, and -1 to the schedule. *product*, *memory*, *intra*
    and *inter* are shares of the peak of products, of the memory's bandwidth, and of the links'
    bandwidth inside and between nodes. *grouped* is the rate of the products of experts over that
    of other products. *hidden_...* are the shares of a kind of communication that computation
    hides. *skew* is the time that is lost to slower GPUs, relative to the rest of the step. Unfused
    *kernels* write attention scores to memory; as usual means unfused for a model without a gate on
    a GPU (not a TPU) from before 2022, when FlashAttention was published, and fused otherwise.
    """

    what: ClassVar[str] = noted("set of shares")

    name: str = "as given"
    product: Ratio = 0.0
    memory: Ratio = 0.0
    intra: Ratio = 0.0
    inter: Ratio = 0.0
    grouped: Ratio = 0.0
    hidden_tensor: Ratio = -1.0
    hidden_context: Ratio = -1.0
    hidden_expert: Ratio = -1.0
    hidden_data: Ratio = -1.0
    skew: Ratio = 0.0
    kernels: Kernels = "as usual"
    source: str = "as given"

    def __post_init__(self) -> None:
        for name in ("product", "memory", "intra", "inter", "grouped"):
            _share(name, getattr(self, name), 0.0)
        for name in ("hidden_tensor", "hidden_context", "hidden_expert", "hidden_data"):
            if getattr(self, name) != -1:
                _share(name, getattr(self, name), 0.0)
        at_least("skew", self.skew, 0)
        one_of("kernels", self.kernels, get_args(Kernels))

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return SHARES  # type: ignore[return-value]


def _share(name: str, value: float, least: float) -> None:
    if at_least(name, value, least) > 1:
        raise too_large(name, value, 1)


_SHARES = (
    Shares(name="of the presets", source="each GPU and link has its own, with their sources"),
    Shares(
        name="nothing hidden",
        hidden_tensor=0.0,
        hidden_context=0.0,
        hidden_expert=0.0,
        hidden_data=0.0,
        source="a bound: all communication is exposed",
    ),
)

SHARES: Mapping[str, Shares] = MappingProxyType({known.name: known for known in _SHARES})
GIVEN = SHARES["of the presets"]
