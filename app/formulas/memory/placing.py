"""The parameters of a model that each GPU of a layout holds."""

from typing import NamedTuple

from app.formulas.pipeline import layers_per_stage
from app.formulas.presets import Layout, ModelShape
from app.formulas.transformer.parameters import LayerParts

_WITHOUT_A_LAYER = 2  # chunks: one with the embedding alone, one with the output head alone


class ParameterShare(NamedTuple):
    """A rank's parameters, before ZeRO divides them.

    *dense* parameters are replicated on all data and context parallel ranks, *experts* on those
    that have the same experts; *layer* is the largest layer, both together.
    """

    layers: int
    dense: float
    experts: float
    layer: float

    @classmethod
    def of(cls, model: ModelShape, layout: Layout, stage: int) -> "ParameterShare":
        """The parameters of a rank of pipeline stage *stage*."""
        counts = layers_per_stage(model.layers, layout.pipeline)
        first = sum(counts[:stage])
        mixtures = max(0, min(counts[stage], first + counts[stage] - model.dense_layers))
        mixtures = mixtures if model.experts else 0
        plain = counts[stage] - mixtures
        parts = LayerParts.of(model)
        attention = parts.attention / layout.tensor + parts.norms
        dense_layer = attention + parts.feed_forward / layout.tensor
        mixed_layer = attention + parts.router + parts.shared / layout.tensor
        experts = parts.expert * model.experts / layout.expert / layout.tensor
        dense = plain * dense_layer + mixtures * mixed_layer + _ends(model, layout, stage)
        fullest = max(dense_layer if plain else 0.0, mixed_layer + experts if mixtures else 0.0)
        return cls(counts[stage], dense, mixtures * experts, fullest)


def _ends(model: ModelShape, layout: Layout, stage: int) -> float:
    """Embedding on the first stage, norm and output head on the last."""
    table = model.vocabulary * model.hidden / layout.tensor
    first, last = stage == 0, stage == layout.pipeline - 1
    held = model.positions * model.hidden if first else 0
    norm = model.hidden * (1 if model.norm == "rms" else 2) if last else 0
    head = last and not (model.tied and layout.pipeline == 1)
    return table * (first + head) + held + norm


def fits_together(model: ModelShape, layout: Layout) -> None:
    """Refuse a layout that cannot divide *model*."""
    asked = (
        ("a tensor", layout.tensor, "heads", model.heads),
        ("a context", layout.context, "tokens of a sequence", layout.sequence),
        ("an expert", layout.expert, "experts", model.experts or 1),
    )
    for name, degree, what, total in asked:
        if total % degree:
            raise ValueError(
                f"layout must have {name} degree that divides the {what}, {total}, not {degree}"
            )
    _enough_layers(model, layout)
    if layout.sequence_parallel and layout.sequence // layout.context % layout.tensor:
        raise ValueError(
            f"layout must have a tensor degree that divides the tokens of a rank,"
            f" {layout.sequence // layout.context}, with sequence parallelism, not {layout.tensor}"
        )


def _enough_layers(model: ModelShape, layout: Layout) -> None:
    """Refuse more pipeline chunks than there are layers.

    If chunks interleave, the first may hold only the embedding and the last only the output head:
    Llama 3 405B cuts 126 layers into 128 chunks (arXiv:2407.21783, section 3.3.2).
    """
    pieces, most, what = layout.pipeline * layout.virtual, model.layers, "layers"
    if layout.virtual > 1:
        most, what = most + _WITHOUT_A_LAYER, "layers, embedding and output head"
    if pieces > most:
        raise ValueError(
            f"layout must have at most as many pipeline chunks as {what}, {most}, not {pieces}"
        )
