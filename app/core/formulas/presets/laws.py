"""Scaling laws of the loss that were published, as printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.core.formulas.checks import at_least, fraction, positive
from app.core.formulas.records import Record
from app.core.translation import noted
from app.core.units import Ratio


@dataclass(frozen=True, kw_only=True)
class ScalingLaw(Record):
    """The loss of a model by its parameters and its training tokens.

    *floor* is the loss that nothing gets below. What a model of finite size adds is *size_scale*
    over the parameters to the *size_exponent*; what finite data add is *data_scale* over the
    tokens to the *data_exponent*.
    """

    what: ClassVar[str] = noted("scaling law")

    name: str = "as given"
    floor: Ratio
    size_scale: Ratio
    data_scale: Ratio
    size_exponent: Ratio
    data_exponent: Ratio
    source: str = "as given"

    def __post_init__(self) -> None:
        at_least("floor", self.floor, 0)
        for name in ("size_scale", "data_scale"):
            positive(name, getattr(self, name))
        for name in ("size_exponent", "data_exponent"):
            fraction(name, getattr(self, name))

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return LAWS  # type: ignore[return-value]


_LAWS = (
    ScalingLaw(
        name="Hoffmann, as printed", floor=1.69, size_scale=406.4, data_scale=410.7,
        size_exponent=0.34, data_exponent=0.28,
        source="Hoffmann et al., arXiv:2203.15556, appendix D.2: the exponents are"
        " rounded to two digits",
    ),
    ScalingLaw(
        name="Besiroglu", floor=1.8172, size_scale=482.01, data_scale=2085.43,
        size_exponent=0.3478, data_exponent=0.3658,
        source="Besiroglu et al., arXiv:2404.10102: refitted to the points of Hoffmann's figure 4",
    ),
)  # fmt: skip

LAWS: Mapping[str, ScalingLaw] = MappingProxyType({known.name: known for known in _LAWS})
