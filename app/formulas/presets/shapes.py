"""What a transformer's weights are, dimension by dimension."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from app.formulas.checks import one_of, whole
from app.formulas.records import Record
from app.units import Count

Biases = Literal["none", "qkv", "all"]
Norm = Literal["rms", "layer"]


@dataclass(frozen=True, kw_only=True)
class ModelShape(Record):
    """A decoder-only transformer.

    A layer is dense, with a feed-forward of width *feed_forward*, or a mixture of *experts* of
    width *expert_feed_forward* each, of which a token meets *active_experts* and those that are
    *shared*; *dense_layers* of a mixture are dense. Where *latent* is not 0, keys and values are
    compressed to it (multi-head latent attention): queries to *query_latent*, with *rope* of each
    head's dimensions for positions. *positions* counts learned ones.
    """

    what: ClassVar[str] = "model shape"

    name: str
    layers: Count
    hidden: Count
    heads: Count
    key_value_heads: Count
    head_size: Count
    feed_forward: Count
    vocabulary: Count
    gated: bool = True
    tied: bool = False
    biases: Biases = "none"
    norm: Norm = "rms"
    query_key_norm: bool = False
    positions: Count = 0
    experts: Count = 0
    active_experts: Count = 0
    expert_feed_forward: Count = 0
    shared: Count = 0
    dense_layers: Count = 0
    router_bias: bool = False
    latent: Count = 0
    query_latent: Count = 0
    rope: Count = 0
    source: str = "as given"

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "key_value_heads", "head_size", "vocabulary"):
            whole(name, getattr(self, name))
        for name in (
            "positions", "experts", "active_experts", "expert_feed_forward", "shared",
            "dense_layers", "latent", "query_latent", "rope", "feed_forward",
        ):  # fmt: skip
            whole(name, getattr(self, name), 0)
        for name in ("gated", "tied", "query_key_norm", "router_bias"):
            one_of(name, getattr(self, name), (False, True))
        one_of("biases", self.biases, ("none", "qkv", "all"))
        one_of("norm", self.norm, ("rms", "layer"))
        self._check_parts()

    def _check_parts(self) -> None:
        if self.heads % self.key_value_heads:
            raise ValueError(
                f"key_value_heads must divide the heads, {self.heads}, not {self.key_value_heads}"
            )
        if self.active_experts > self.experts:
            raise ValueError(
                f"active_experts must be at most the experts, {self.experts},"
                f" not {self.active_experts}"
            )
        if self.dense_layers > self.layers:
            raise ValueError(
                f"dense_layers must be at most the layers, {self.layers}, not {self.dense_layers}"
            )
        if not self.experts and not self.feed_forward:
            raise ValueError("feed_forward must be at least 1, not 0, in a model without experts")

    @property
    def expert_layers(self) -> int:
        """Layers that are a mixture of experts."""
        return self.layers - self.dense_layers if self.experts else 0

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """All that are listed in presets."""
        from app.formulas.presets.models import MODELS

        return MODELS  # type: ignore[return-value]
