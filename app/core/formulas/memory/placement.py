"""The parameters of a model that each GPU of a layout holds."""

from typing import NamedTuple

from app.core.formulas.parallelism.degrees import Degrees, Middle
from app.core.formulas.parallelism.rules import refuse_pair
from app.core.formulas.presets import Layout, ModelShape
from app.core.formulas.step.parameters import LayerParameters, StageLayers, end_parameters
from app.core.formulas.transformer.parameters import LayerParts


class ParameterShare(NamedTuple):
    """A rank's parameters, before ZeRO divides them, without rows that pad the vocabulary.

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
        on = Degrees.of(layout)
        at = StageLayers.of(model, on, Middle.of(model.layers, on), stage)
        layer = LayerParameters.of(model, LayerParts.of(model), on)
        ends = end_parameters(model, on, at, model.vocabulary / on.tensor)
        largest = max(layer.dense if at.dense else 0.0, layer.mixed + layer.experts if at.mixtures else 0.0)
        return cls(
            at.dense + at.mixtures,
            at.dense * layer.dense + at.mixtures * layer.mixed + ends,
            at.mixtures * layer.experts,
            largest,
        )


def fits_together(model: ModelShape, layout: Layout) -> None:
    """Refuse a layout that cannot divide *model*; the error names the nearest that can."""
    refuse_pair(model, layout)
