"""Every tensor of a model put on every rank of a layout, and what each rank then holds."""

from app.simulators.layout.placing import Mesh, Rank, Tensor, place

__all__ = ["Mesh", "Rank", "Tensor", "place"]
